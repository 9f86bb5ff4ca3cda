"""Tests that the commands in README and docs work; test_quickstart.py tests the quickstart."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import h5py
import pytest
from conftest import PROGRAM, ROOT, mpirun
from dbench_analysis import cli

SHORT = ["--set", '/length={"iterations": 3}', "--set", '/evaluate={"every": null, "replicas": 2}']
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ANALYZE = "dbench-analyze"


def commands(document):
    """Yield the words of indented lines that start a program of this project, without comments."""
    for line in document.read_text().splitlines():
        if re.match(r"    (mpirun -n \d+ )?(build/)?dbench |    \.venv/bin/dbench-analyze ", line):
            yield shlex.split(line, comments=True)


def adapted(words):
    """Return the same command for a test, with the test's paths and few iterations."""
    if words[0] == "mpirun":
        ranks = int(words[2]) if "doctor" in words else 2  # the links of doctor need all slots
        return mpirun(ranks) + adapted(words[3:])
    if words[0].endswith(ANALYZE):
        few = [] if words[1] != "plot" else ["--dpi", "30"] + (
            ["--kind", "accuracy", "--kind", "graphs"] if "--kind" not in words else [])
        return [ANALYZE, *words[1:], *few]  # the report draws nearly every kind of these runs
    text = [re.split(r"\s{2,}", w)[0].replace("[20, 30]", "[1, 3]") for w in words[1:]]
    if "--seconds" in text:
        text[text.index("--seconds") + 1] = "1"
    if "/replicas=48" in words:  # resumes an interrupted run, which does not exist here
        text += ["--output", "results/more.h5"]
    if text[0] == "conform" and "gradient_tracking" not in text:
        text = ["conform", "dsgd", "--quick"]  # other tests check all algorithms
    anew = [] if {"--resume", "--overwrite"} & set(words) else ["--overwrite"]
    return [PROGRAM, *text] + (SHORT + anew if "run" in words[:2] else [])


def readme_spec():
    """Return the spec that README shows."""
    text = (ROOT / "README.md").read_text()
    return re.search(r"    // ring\.json\n    \{.*?\n    \}\n", text, re.S).group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder like the project's, with the results that the documents name."""
    place = tmp_path_factory.mktemp("docs")
    (place / "configs").symlink_to(ROOT / "configs")
    few = readme_spec().replace('"shapes"', '"shapes", "train": 1024, "test": 64')
    assert few != readme_spec()   # drawing and evaluating all images takes longer than these runs
    for name in ("ring", "spec"):
        (place / f"{name}.json").write_text(few)
    small = {"replicas": 16, "model": "softmax_regression",
             "data": {"type": "shapes", "train": 512, "test": 64, "batch_size": 8}}
    specs = {name: {"base": "../ring.json"} for name in ("torus", "run")}
    for name, kind in (("ring-traced", "D_ring"), ("all-reduce-traced", "C_complete")):
        specs[name] = {**small, "model": "mlp", "implementation": kind,
                       "profile": {"trace": {"iterations": [0, 2]}}}
    for name in ("ring", "torus"):
        for seed in (1, 2):
            specs[f"{name}-s{seed}"] = {**small, "implementation": f"D_{name}", "seed": seed}
    (place / "cifar-10-batches-bin").mkdir()
    (place / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(bytes(1000))
    (place / "made").mkdir()
    for name, spec in specs.items():
        (place / "made" / f"{name}.json").write_text(json.dumps({**spec, "name": name}))
    subprocess.run([PROGRAM, "run", "ring.json", *(f"made/{name}.json" for name in specs), *SHORT,
                    "--quiet"], cwd=place, check=True)
    return place


@pytest.fixture(scope="module")
def tried():
    """Return the list of commands that were already run, since several documents show the same."""
    return []


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if d.name != "your-model.md"],
                         ids=lambda d: d.name)  # export/tests/test_examples.py runs your-model.md
def test_commands(folder, document, tried, monkeypatch):
    monkeypatch.chdir(folder)
    for words in map(adapted, commands(document)):
        line = " ".join(words)
        if {"FILE", "FOLDER", "--run"} & set(words) or words in tried or re.search(
                "results/(cifar10|ada|adaptive|compression|gpu|heterogeneity|stragglers|sweeps|seeds"
                "|applications|studies)/", line):
            continue
        if "configs/scale/" in line and not os.environ.get("DBENCH_DATA"):
            pytest.skip("DBENCH_DATA is not set: Fashion-MNIST is needed")
        tried.append(words)
        if words[0] == ANALYZE:  # run in this process, because its libraries take seconds to load
            assert cli.main(words[1:]) == 0, line
            continue
        target = words[-1] if words[-2] == ">" else None  # the shell's redirection
        done = subprocess.run(words[:-2] if target else words, text=True, capture_output=True,
                              timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        if target:
            Path(target).write_text(done.stdout)


def test_paths_and_links_of_documents():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_readme_spec_is_what_it_says():
    done = subprocess.run([PROGRAM, "check", "/dev/stdin", "--json"], input=readme_spec(),
                          text=True, capture_output=True, check=True)
    spec = json.loads(done.stdout)["spec"]
    assert spec["replicas"] == 16 and spec["graph"]["type"] == "ring"
    assert "warning" not in done.stderr


def test_readme_spec_learns(tmp_path):
    """A third of its epochs is enough to see it: by chance, a tenth of the images is recognised."""
    (tmp_path / "ring.json").write_text(readme_spec())
    subprocess.run([*mpirun(2), PROGRAM, "run", "ring.json", "--quiet", "--output", "ring.h5",
                    "--set", '/evaluate={"every": null, "replicas": 2}',
                    "--set", "/length/epochs=4"], cwd=tmp_path, check=True)
    with h5py.File(tmp_path / "ring.h5") as file:
        assert file["evaluations/mean_accuracy"][-1] > 0.35
