"""Tests the quoting of batch scripts: no text of a sweep or site file is executed as shell code,
and every word arrives unchanged.

Bash runs the scripts; replacements of the launcher and the program record their arguments.
"""

import json
import os
import re
import subprocess

import pytest
from conftest import stand_in
from sweeps import batch, sweepfile
from sweeps.problem import Problem
from sweeps.site import Site

TOUCH = "touch PWNED"
SHELL = [f"; {TOUCH};", f"& {TOUCH} &", f"| {TOUCH}", f"|| {TOUCH}", f"&& {TOUCH}", f"$({TOUCH})",
         f"`{TOUCH}`", f"${{x:-$({TOUCH})}}", f"$(({TOUCH}))", f"a[$({TOUCH})]", f"<({TOUCH})",
         f">({TOUCH})", "> PWNED", ">>PWNED", "2>PWNED", "<PWNED", f"( {TOUCH} )",
         f"{{ {TOUCH}; }}", "{PWNED,touch}", f"# {TOUCH}", f"! {TOUCH}", "*", "?",
         "[a-z]", "~", "~root", "$HOME", "$PATH", "${PATH}", "$0", "$name", "$runs", "$$", "$?",
         "!!", "^a^b", "=ls", "a=b", "-n", "--", "-", "--wrap=x", "--help", "-e", "'", '"', "''",
         '""', "'\"'", "\"'\"", "'$(touch PWNED)'", "\"$(touch PWNED)\"", "'; touch PWNED; '",
         "\"; touch PWNED; \"", "')'; touch PWNED #", "\" $(touch PWNED) \"",
         "RUNS", "EOF", "<<RUNS", "<<<x", "a b", " a", "a ", "  ", "a  b", "{}", "{0}", "a,b",
         "a:b", "a;b", "a#b", "a #b", "#SBATCH --wrap=x", "packjob", "hetjob", ":", ".", "...", "@",
         "+", "=", "ü", "日本", "ａ", "é\u0301", "\U0001f600", "(", ")", "<", ">", "&", "|", ";",
         "select", "in", "do", "done", "if", "then", "fi", "case", "esac", "function", "[[", "]]",
         "{", "}", "!", "time", "exec", "eval", "exit", "trap", "coproc"]
NEVER = [f"\n{TOUCH}\n", f"x\n{TOUCH}; echo x", f"\r{TOUCH}\r", "a\tb", "\0", "a\0b", "\x1b[2J",
         "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\ud800", "\udcff", "$'\\n'", "%A", "%",
         "a%jb", "%%", "a\\", "\\", f"\\$({TOUCH})", f"\\\n{TOUCH}"]
# These have a meaning only in Slurm's paths.
SLURM_ALONE = ("$'\\n'", "%A", "%", "a%jb", "%%", "a\\", "\\", f"\\$({TOUCH})")
WORDS = ("partition", "account", "qos")
LISTS = ("sbatch", "launcher", "step", "gpu_step", "gpu_launch")


class OneRun:
    """The attributes of a run that a batch script uses."""
    def __init__(self, name):
        self.name, self.ranks, self.gpus, self.minutes = name, 2, 2, 1.0


@pytest.fixture
def script(quick, monkeypatch):
    """Return a function that makes the batch script for changes to the sweep and its site; it
    returns None if they are refused."""
    stand_in(quick, "launch", 'printf "%s\\0" "$@" "$PWD" >"$DBENCH_NOTES/launch.$BASHPID"; '
             'shift $(($# - 6)); exec "$@"')  # PROGRAM run SPEC --output OUTPUT --resume
    monkeypatch.chdir(quick.folder)

    def call(sweep, site, packed=False):
        for path in (quick.folder / "notes").iterdir():
            path.unlink()
        (quick.folder / "sweep.json").write_text(json.dumps(
            {"base": {}, "axes": {"seed": [1]}, "output": "out", "ranks": 2, **sweep}))
        (quick.folder / "site.json").write_text(json.dumps(
            {"launcher": ["launch"], "gpus_per_node": 4, **site}))
        monkeypatch.setenv("DBENCH_PROGRAM", quick.environment["DBENCH_PROGRAM"])
        try:
            made = sweepfile.Sweep(quick.folder / "sweep.json")
            there = Site(quick.folder / "site.json")
        except Problem as problem:
            assert "\n" not in str(problem)
            return None
        runs = [OneRun(name) for name, _ in made.points]
        os.makedirs(os.path.join(made.folder, "logs"), exist_ok=True)
        if packed:
            return batch.pack(there, made, runs, 4, 1.0)
        return batch.array(there, made, runs, None)
    return call


def run(sweep, script):
    """Run a batch script in an empty folder; return the arguments of launcher and program."""
    place = sweep.folder / "elsewhere"
    place.mkdir(exist_ok=True)
    (sweep.folder / "script").write_text(script)
    job = {"SLURM_ARRAY_TASK_ID": "0", "SLURM_JOB_ID": "5"}
    done = subprocess.run(["bash", sweep.folder / "script"], cwd=place, text=True, timeout=20,
                          capture_output=True, env={**sweep.environment, **job})
    assert done.returncode == 0, done.stdout + done.stderr + script
    found = {path.name.split(".")[0]: path.read_text().split("\0")[:-1]
             for path in sweep.folder.glob("notes/*.*")}
    return found["launch"], found["run"]


def unharmed(sweep):
    assert not [path for path in sweep.folder.rglob("*") if path.name == "PWNED"]


def sbatch_words(script):
    """Return the options in a script's head as sbatch splits them: like a shell, but a backslash is
    special within any quotes, and outside quotes it does not protect a space."""
    for line in script.splitlines()[1:]:
        if not line.startswith("#SBATCH "):
            return
        word, quote, escaped = "", "", False
        for sign in line[len("#SBATCH "):]:
            if not quote and sign.isspace():
                yield word
                word, escaped = "", False
            elif escaped:
                word, escaped = word + sign, False
            elif sign == "\\":
                escaped = True
            elif sign == quote or (not quote and sign in "'\""):
                quote = "" if quote else sign
            elif not quote and sign == "#":
                break
            else:
                word += sign
        yield word


def test_there_are_a_hundred_texts():
    assert len(set(SHELL) | set(NEVER)) > 120


@pytest.mark.parametrize("packed", [False, True], ids=["array", "pack"])
def test_paths_and_site_words_are_never_run_and_arrive_as_they_were(quick, script, packed):
    for name in SHELL:
        # The detour over "/x" keeps names such as "." from being simplified.
        output = os.path.abspath(quick.folder / "results" / (name + "/x"))[:-2]
        site = {**dict.fromkeys(WORDS, name), "launcher": ["launch", name], "step": [name],
                "gpu_step": [name], "gpu_launch": [name], "sbatch": ["--comment=" + name]}
        text = script({"output": output}, site, packed)
        if text is None:  # a path with a shell's notation or a placeholder is refused
            assert set(name) & set("$~{"), name
            output = os.path.abspath(quick.folder / "results" / "plain")
            text = script({"output": output}, site, packed)
        launched, ran = run(quick, text)
        assert launched[:3] == ([name] * 3 if packed else [name, name, "-n"])
        assert ran == ["run", f"{output}/.sweep/specs/s1.json", "--output", f"{output}/s1.h5",
                       "--resume"]
        logs = f"{output}/.sweep/logs/"
        assert os.path.exists(logs + "s1.log")
        told = list(sbatch_words(text))
        assert {f"--{key}={name}" for key in WORDS} <= set(told) and f"--comment={name}" in told
        assert [word for word in told if word.startswith("--output=" + logs + "slurm-%")]
        assert all(word.startswith("--") for word in told)
        unharmed(quick)


@pytest.mark.parametrize("field", ["output", *WORDS, *LISTS, "prologue"])
def test_line_breaks_are_refused(quick, script, field):
    for name in NEVER:
        if field == "output":
            assert script({"output": f"results/{name}"}, {}) is None, name
            continue
        if field == "prologue" and (name in SLURM_ALONE or name == "a\tb"):
            continue  # the prologue is a shell command itself
        value = name if field in WORDS else ["--comment=" + name] if field == "sbatch" else [name]
        text = script({}, {field: ["launch", *value] if field == "launcher" else value}, True)
        assert (text is not None) == (name in SLURM_ALONE), name
        if text is not None:
            launched, _ = run(quick, text)
            assert field not in ("launcher", "step", "gpu_step") or name in launched
            assert field not in WORDS or f"--{field}={name}" in sbatch_words(text)
    unharmed(quick)


def test_names_are_letters_or_refused(quick, script):
    safe = re.compile("[A-Za-z0-9_][A-Za-z0-9._-]*")
    for name in SHELL + NEVER:
        text = script({"name": name}, {})
        assert (text is not None) == bool(safe.fullmatch(name)), name
        assert text is None or f"\n    {name}\n)" in text
        for axes in ({"graph": [name]}, {"data": [{"type": name, name: name}]}, {f"/{name}": [1]}):
            text = script({"axes": axes}, {})  # special characters are removed from run names
            if text is not None:
                assert safe.fullmatch(re.search(r"\nruns=\(\n    (.*)\n\)\n", text).group(1))


def test_numbers_and_keys_are_numbers_and_keys(script):
    for name in set(SHELL + NEVER) - {"time"}:
        for key, value in (("time", name), ("ranks", name), ("ranks", {name: 1}), (name, 1),
                           ("exclude", [{name: 1}]), ("only", [{"seed": name}])):
            assert script({key: value}, {}) is None, (key, name)
        for key in ("time_limit", "signal_seconds", "gpus_per_node", "cpus_per_task", "max_jobs",
                    "max_array", "throttle", name):
            assert script({}, {key: name}) is None, (key, name)


def test_folders_of_the_user_and_of_the_program_are_quoted_too(quick, script, monkeypatch):
    for k, name in enumerate(SHELL[::5] + [f"a\n{TOUCH}\n", "%A", "a\\b"]):
        place = quick.folder / "places" / str(k) / name
        place.mkdir(parents=True)
        (place / "dbench").symlink_to(quick.folder / "bin" / "dbench")
        quick.environment["DBENCH_PROGRAM"] = str(place / "dbench")
        monkeypatch.chdir(place)
        launched, _ = run(quick, script({"output": str(quick.output)}, {}))
        assert launched[-7] == str(place / "dbench") and launched[-1] == str(place)
    unharmed(quick)


def test_quoting_through_the_command(quick, inside):
    stand_in(quick, "launch", 'shift $(($# - 6)); touch "$DBENCH_NOTES/launch.1"; exec "$@"')
    stand_in(quick, "sbatch", 'cat >"$DBENCH_NOTES/script"; echo 5')
    output = str(quick.folder / f"o'u\"t; {TOUCH} #$({TOUCH})")
    quick.write({"seed": [1]}, {"graph": "ring"}, output=output)
    (quick.folder / "site.json").write_text(
        '{"launcher": ["launch"], "account": "a b; touch PWNED"}')
    stand_in(quick, "squeue", "exit 0")
    assert inside(quick, "submit", "--site", quick.folder / "site.json")[0] == 0
    _, ran = run(quick, (quick.folder / "notes" / "script").read_text())
    assert ran[3] == output + "/s1.h5" and os.path.exists(ran[1])
    unharmed(quick)
