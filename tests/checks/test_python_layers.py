"""The imports of the Python code: a sub-package of `dbench_analysis` imports only itself and those
before it, modules form no import cycle, and imports stand at the top of a file."""

import ast
import subprocess
from pathlib import Path

import pytest
from test_layers import circle

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {  # package: its folder
    "dbench_analysis": "analysis/dbench_analysis",
    "sweeps": "scripts/slurm/sweeps",
}
ORDER = ["basics", "reading", "naming", "quantities", "selection", "statistics", "graphs", "tables",
         "claims", "reproduction", "figures", "pages", "studies", "notebook", "commands"]
OPTIONAL = {"xarray"}  # not installed everywhere: a function may import it
DRAWING = {"figures", "pages", "studies", "notebook", "commands"}  # only these may load Matplotlib


def modules(package):
    """Return {module: text} of a package, such as reading.run; a package is its own module."""
    folder = PACKAGES[package]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for name in listed:
        if name.endswith(".py") and (ROOT / name).exists():
            module = name.removeprefix(folder + "/").removesuffix(".py").replace("/", ".")
            module = module.removesuffix("__init__").rstrip(".")
            found[module] = (ROOT / name).read_text()
    return found


def imported(package, module, node, known, is_package=False):
    """Return the modules in `known` that an import statement of `module` names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.level:
        parts = module.split(".") if module else []
        base = parts if is_package else parts[:-1]
        base = base[: len(base) - node.level + 1]
        start = ".".join([package, *base, *([node.module] if node.module else [])])
        names = [f"{start}.{alias.name}" for alias in node.names]
    else:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    found = set()
    for name in names:
        first, _, rest = name.partition(".")
        if first == package:
            found.add(rest if rest in known else rest.rpartition(".")[0])
    return found


def imports(text):
    """Yield (statement, whether it stands inside a function) of every import."""
    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                yield child, inside
            yield from visit(child, inside or isinstance(
                child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    yield from visit(ast.parse(text), False)


def third_party(node):
    """Return the top-level packages that an absolute import names."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return set() if node.level else {(node.module or "").split(".")[0]}


def packages_of(known):
    return {name for name in known if any(other.startswith(name + ".") for other in known)} | {""}


def problems(package, module, text, known):
    """Yield what is wrong with the imports of one module."""
    layer = module.split(".")[0]
    for node, inside in imports(text):
        if inside and not (third_party(node) and third_party(node) <= OPTIONAL):
            yield f"{module}:{node.lineno}: imports inside a function"
        if package != "dbench_analysis" or layer not in ORDER:
            continue
        if "matplotlib" in third_party(node) and layer not in DRAWING:
            yield f"{module}:{node.lineno}: loads Matplotlib, which takes a second"
        for other in imported(package, module, node, known, module in packages_of(known)):
            there = other.split(".")[0]
            if there not in ORDER or ORDER.index(there) > ORDER.index(layer):
                yield (f"{module}:{node.lineno}: imports {other or package}, which comes after "
                       f"{layer}")


def arrows(package, found):
    """Return {module: modules of the same package that it imports}."""
    return {module: {other for node, _ in imports(text)
                     for other in imported(package, module, node, found,
                                           module in packages_of(found))} - {module}
            for module, text in found.items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_import_what_they_may(package):
    found = modules(package)
    wrong = [line for module, text in found.items()
             for line in problems(package, module, text, found)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_form_no_cycle(package):
    cycle = circle(arrows(package, modules(package)))
    assert not cycle, " -> ".join(cycle)


def test_every_sub_package_has_its_place():
    found = {name.split(".")[0] for name in modules("dbench_analysis") if "." in name}
    assert found == set(ORDER)


KNOWN = {"", "reading", "reading.run", "reading.table", "figures", "figures.style", "cli"}


@pytest.mark.parametrize("module, text", [
    ("reading.run", "from ..figures import style"),
    ("reading.run", "from dbench_analysis.figures.style import settings"),
    ("reading.run", "from .. import cli"),
    ("reading.run", "import matplotlib"),
    ("reading.run", "def f():\n    from .table import Table"),
    ("reading.run", "def f():\n    from . import table"),
    ("figures.style", "class A:\n    def f(self):\n        import json"),
])
def test_the_check_refuses(module, text):
    assert list(problems("dbench_analysis", module, text, KNOWN))


@pytest.mark.parametrize("module, text", [
    ("figures.style", "from ..reading.run import Run\nimport matplotlib"),
    ("reading.run", "from .table import Table\nimport json"),
    ("reading.run", "def f():\n    import xarray"),
    ("cli", "from .figures import style"),
])
def test_the_check_admits(module, text):
    assert not list(problems("dbench_analysis", module, text, KNOWN))


def test_a_cycle_is_found():
    found = {"a": "from . import b", "b": "from .c import name", "c": "import sweeps.a"}
    assert circle(arrows("sweeps", found)) == ["a", "b", "c"]
