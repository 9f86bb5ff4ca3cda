"""Tests that the documents list every key of a spec with its default, every option, and every key
of the --json outputs."""

import json
import re

from conftest import ROOT, SMALL

TEXT = (ROOT / "docs" / "spec.md").read_text()
COMMANDS = (ROOT / "docs" / "command-line.md").read_text()
GRAPHS = (ROOT / "docs" / "graphs.md").read_text()


def table_rows():
    """Yield for each row of a table the names in its first cell and the whole line."""
    for line in TEXT.splitlines():
        if line.startswith("| `"):
            yield re.findall(r"`([^`]+)`", line.split(" | ")[0]), line


def listed(dbench):
    return json.loads(dbench("list", "--json").stdout)


def written(value):
    return json.dumps(value).replace(", ", ",")


def leaves(value, path):
    """Yield the paths and values of all keys of an object; a duration counts as a value."""
    if isinstance(value, dict) and not set(value) & {"epochs", "iterations", "samples"}:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def test_every_key_and_its_default(dbench):
    minimal = {key: SMALL[key] for key in ("replicas", "model", "data", "implementation")}
    spec = dbench.folder / "minimal.json"
    spec.write_text(json.dumps(minimal))
    resolved = json.loads(dbench("check", spec, "--json").stdout)["spec"]
    lines = {name: line for names, line in table_rows() for name in names}
    families = {"model", "data", "optimizer", "schedule", "placement"}
    for key, value in leaves({k: v for k, v in resolved.items() if k not in families}, ""):
        assert key in lines, f"{key}: not in docs/spec.md"
        default = lines[key].split(" | ")[1].strip()
        if default != "required" and key not in ("name", "implementation"):
            assert default.strip("`").replace(", ", ",") == written(value), lines[key]
    keys = TEXT.split("## Keys")[1].split("## ")[0]
    described = set(re.findall(r"^\| `([^`]+)`", keys, re.M))
    known = {*resolved, *(key for key, _ in leaves(resolved, ""))}
    assert described - {"base", "graph", "algorithm"} <= known


def test_every_member_of_a_family_and_its_keys(dbench):
    rows = list(table_rows())
    for family, members in listed(dbench).items():
        if family == "graphs":
            continue
        for name, row in members.items():
            lines = [line for names, line in rows if name in names]
            assert lines, f"{family}: {name} is not in docs/spec.md"
            for key, parameter in row.get("parameters", {}).items():
                if family == "optimizers":   # keys of all optimizers are described above the table
                    lines = [TEXT]
                if family == "schedules" and key in ("warmup", "warmup_from", "scale"):
                    continue
                found = [line for line in lines if f"`{key}`" in line]
                assert found, f"{family}: {name} has {key}, which is not in docs/spec.md"
                default = parameter.get("default")
                if isinstance(default, (int, float)) and not isinstance(default, bool):
                    number = rf"`{key}` ([0-9][0-9.e-]*[0-9]|[0-9])"
                    numbers = [float(n) for line in found for n in re.findall(number, line)]
                    assert default in numbers, f"{name}: {key} is {default}, not {numbers}"


def test_every_graph_and_its_parameters(dbench):
    graphs = listed(dbench)["graphs"]
    named = {name for name in graphs if f"`{name}`" in GRAPHS}
    assert named == set(graphs)
    keys = {key for row in graphs.values() for key in row["parameters"]}
    assert {key for key in keys if f"`{key}`" in GRAPHS} == keys


def test_every_command_and_option(dbench):
    known = set()
    for command in ("run", "check", "calibrate", "predict", "graph", "list", "conform", "doctor",
                    "version", "data pack", "data pieces", "data verify"):
        assert f"`dbench {command}" in COMMANDS
        text = dbench(*command.split(), "--help").stdout
        options = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.M)) - {"--help"}
        assert not {option for option in options if f"`{option}" not in COMMANDS}, command
        known |= options
    assert set(re.findall(r"^\| .*?`(--[a-z-]+)", COMMANDS, re.M)) <= known


def test_every_key_of_check_and_graph_for_programs(dbench):
    checked = json.loads(dbench("check", dbench.spec(), "--json").stdout)
    assert all(f"`{key}`" in COMMANDS for key in checked)
    described = set(re.findall(r"`([a-z_]+)`", "".join(
        line.split(" | ")[0] for line in COMMANDS.split("`dbench check --json`:")[1]
        .split("`dbench predict --json`")[0].splitlines())))
    assert described <= {*checked, "stages"}
    graph = json.loads(dbench("graph", "ring", "--n", 8, "--json", "--gpus-per-node", 4,
                              "--model-bytes", 8).stdout)
    (dbench.folder / "links.txt").write_text("a a 0 1\na b 0 1\nb b 0 1")
    links = json.loads(dbench("graph", "ring", "--n", 8, "--json", "--gpus-per-node", 4,
                              "--model-bytes", 8, "--links", "links.txt").stdout)["links"]
    unknown = [k for k in {*graph, *graph["traffic"], "links", *links}
               if f"`{k}`" not in COMMANDS + GRAPHS]
    assert not unknown
