"""Tests of the anchor in docs/studies/anchor: its PyTorch program, and the comparison of curves."""

import csv
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from reference import torch
from torch_models import SmallResNet

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "studies" / "anchor"
h5py = pytest.importorskip("h5py", reason="no h5py in this Python")


@pytest.fixture
def study():
    """Return anchor.py as a module of its own, whose numbers a test may change."""
    spec = importlib.util.spec_from_file_location("anchor_study", FOLDER / "anchor.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_network_is_that_of_the_other_tests(study):
    torch.manual_seed(0)
    model, other = study.resnet20(), SmallResNet((3, 32, 32), 10)
    assert sum(p.numel() for p in model.parameters()) == 269722
    with torch.no_grad():
        for a, b in zip(model.parameters(), other.parameters(), strict=True):
            b.copy_(a)
    images = torch.randn(4, 3, 32, 32)
    torch.testing.assert_close(model(images), other(images))


def test_crops_are_parts_of_padded_images(study):
    torch.manual_seed(0)
    image = torch.randint(1, 256, (1, 3, 32, 32), dtype=torch.uint8)
    padded = torch.nn.functional.pad(image, (4, 4, 4, 4))[0]
    parts = [padded[:, r:r + 32, c:c + 32] for r in range(9) for c in range(9)]
    parts += [part.flip(2) for part in parts]
    found = study.augmented(image.repeat(500, 1, 1, 1))
    seen = {next(k for k, part in enumerate(parts) if torch.equal(part, one)) for one in found}
    assert len(seen) > 100  # of 162


def test_a_short_training_learns_and_finished_seeds_are_kept(study, tmp_path, monkeypatch, capsys):
    if not os.environ.get("DBENCH_DATA"):
        pytest.skip("DBENCH_DATA is not set")
    if not (Path(os.environ["DBENCH_DATA"]) / "cifar-10-batches-bin").exists():
        pytest.skip("no cifar-10-batches-bin in DBENCH_DATA")
    for name, value in (("IMAGES", 512), ("TESTS", 100), ("EPOCHS", 2), ("WARMUP", 2)):
        monkeypatch.setattr(study, name, value)
    words = ["anchor.py", "train", "3", "-o", str(tmp_path / "curves.csv")]
    monkeypatch.setattr("sys.argv", words)
    assert study.main() == 0
    rows = study.rows_of(tmp_path / "curves.csv")
    assert [(row["seed"], row["epoch"]) for row in rows] == [("3", "1"), ("3", "2")]
    assert float(rows[-1]["accuracy"]) > 0.1  # chance
    assert study.main() == 0 and "curves.csv has it" in capsys.readouterr().out
    assert study.rows_of(tmp_path / "curves.csv") == rows
    monkeypatch.setattr(study, "IMAGES", 1024)
    with pytest.raises(SystemExit, match="trained on 512 images"):
        study.main()


def write(folder, curves):
    folder.mkdir()
    for seed, curve in enumerate(curves):
        with h5py.File(folder / f"s{seed}.h5", "w") as file:
            file["evaluations/epoch"] = np.arange(len(curve) + 1) * 0.998
            file["evaluations/mean_accuracy"] = [0.1, *curve]


def test_means_are_compared_with_the_range(study, tmp_path, monkeypatch, capsys):
    with open(tmp_path / "curves.csv", "w", newline="") as file:
        csv.writer(file).writerows([study.COLUMNS, *(
            [seed, epoch, accuracy, study.IMAGES, study.TESTS]
            for seed, curve in enumerate([(0.3, 0.5), (0.4, 0.6)])
            for epoch, accuracy in enumerate(curve, 1))])

    def compared(name):
        monkeypatch.setattr("sys.argv", ["anchor.py", "compare", str(tmp_path / name),
                                         str(tmp_path / "curves.csv")])
        return study.main()

    write(tmp_path / "inside", [(0.32, 0.54), (0.40, 0.60)])
    assert compared("inside") == 0
    assert "| 2 | 55.00 | 50.00 to 60.00 | 57.00 | 54.00 to 60.00 | +2.00 ± 5.83 | yes |" in (
        capsys.readouterr().out)
    write(tmp_path / "outside", [(0.32, 0.61), (0.40, 0.61)])
    assert compared("outside") == 1 and "| no |" in capsys.readouterr().out
    write(tmp_path / "short", [(0.32,), (0.40,)])
    with pytest.raises(SystemExit, match="the epochs differ"):
        compared("short")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="no result file"):
        compared("empty")


def test_the_published_curves_are_those_of_six_seeds(study):
    rows = study.rows_of(FOLDER / "pytorch.csv")
    assert sorted({int(row["seed"]) for row in rows}) == [1, 2, 3, 4, 5, 6]
    assert len(rows) == 6 * study.EPOCHS
