"""The command where Python cannot import PyTorch, as after `scripts/setup` without CUDA."""

import subprocess
import sys
from pathlib import Path

CODE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
sys.modules["torch"] = None  # `import torch` fails
from dbench_export.cli import main
sys.exit(main())
"""


def run(*words):
    return subprocess.run([sys.executable, "-c", CODE, str(Path(__file__).parents[1]), *words],
                          text=True, capture_output=True)


def test_help_needs_no_torch():
    done = run("--help")
    assert done.returncode == 0 and "examples:" in done.stdout


def test_the_error_says_how_to_get_it(tmp_path):
    done = run("mine.py:make", "--input", "float32[3]", "-o", str(tmp_path / "a.pt2"))
    assert done.returncode == 2
    assert "Python cannot import torch" in done.stderr and "export[torch]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_wrong_options_are_named_before_torch_is_missed(tmp_path):
    done = run("mine.py:make", "--input", "float32[3]", "--classes", "1", "-o",
               str(tmp_path / "a.pt2"))
    assert done.returncode == 2 and "--classes: it must be at least 2" in done.stderr
