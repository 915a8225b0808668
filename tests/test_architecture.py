"""The shape of the house, read from the source: imports go down only, one door per dependency, files stay short.

Rooms of a wing are ranked model > results > numerics; wings do not import each other but for the edges listed here;
every wing stands on `base`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "qreg_boost"

WINGS = ("boosting", "quantreg", "kernel", "reject", "classify")
# What each part of the house may import at all, itself aside. Methods of results may reach for plots and r.
MAY_IMPORT = {
    "base": set(),
    "datasets": {"base"},
    "haar": {"base"},
    "plots": {"base"},
    "r": {"base"},
    **{wing: {"base"} for wing in WINGS},
    "compose": {"base", *WINGS},
    "api": {"base", *WINGS},
    "api_classes": {"base", *WINGS},
    "api_compose": {"base", "compose", *WINGS},
    "api_files": {"api_compose", "api_kernels", "api_reject", "api_rivals", "base", *WINGS},
    "api_kernels": {"base", *WINGS},
    "api_reject": {"base", "compose", *WINGS},
    "api_rivals": {"base", *WINGS},
    "errors": {"base", "quantreg"},
    "sklearn": {"api", "base", "compose", *WINGS},
    "cli": {"api", "api_files", "base", "cli_models", "datasets"},
    "cli_models": {"base", "api", "api_classes", "api_compose", "api_kernels", "api_reject", "api_rivals"},
    "__main__": {"cli"},
    "__init__": {
        *("api", "api_classes", "api_compose", "api_files", "api_kernels", "api_reject"),
        "api_rivals",
        *("base", "compose", "datasets", "errors", "haar", *WINGS),
    },
}
# (importing module, imported part): the results of boosting ask quantreg's solvers for the optimality gap.
EXTRA_EDGES = {("boosting.qbr_results", "quantreg")}
EXTRA_PARTS = {("reject", "kernel")}
REACHED_INSIDE_METHODS = {"plots", "r"}

# One door per dependency: which modules may import it, as prefixes of their dotted names.
DOORS = {
    "patsy": ("base.patsy_door",),
    "cvxopt": ("kernel.cone_program",),
    "matplotlib": ("plots",),
    "rpy2": ("r",),
    "sklearn": ("sklearn",),
    "numba": WINGS,
}
# Rooms where numbers are worked on: no pandas, no formulas.
NUMERIC = (
    "base.rank",
    *(f"boosting.{name}" for name in ("learners", "losses", "class_losses", "loop", "moments")),
    *(f"boosting.{name}" for name in ("path", "linear_path", "signflip", "steps")),
    *(f"boosting.{name}" for name in ("basis_path", "banded_kernels", "banded_loop", "loops")),
    *(f"boosting.{name}" for name in ("tree_path", "tree_fits", "stump_loop")),
    *(f"quantreg.{name}" for name in ("interior_point", "frisch_newton", "vertex", "solution", "exact", "mm")),
    *(f"quantreg.{name}" for name in ("highs", "solvers", "simplex", "parametric", "pivots", "process", "l1_path")),
    *(f"quantreg.{name}" for name in ("band", "smooth", "kernels", "rows", "covariance", "bandwidth", "sparsity")),
    *(f"quantreg.{name}" for name in ("bootstrap", "rank", "anova", "inference")),
    *(f"classify.{name}" for name in ("median", "score", "scale", "search")),
    *(f"compose.{name}" for name in ("codes", "cuts", "resample")),
    *(
        f"kernel.{name}"
        for name in ("kernels", "box_qp", "program", "quadratic", "sifting", "incomplete_cholesky", "noncrossing")
    ),
    *(f"kernel.{name}" for name in ("along", "elbow", "path_walk", "path_trace", "exact_path")),
    "kernel.offset",
    *("reject.losses", "reject.dca", "reject.task", "reject.ties", "reject.flat", "reject.tally", "reject.machine"),
)
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 80


@dataclass(frozen=True)
class Import:
    """One import: the full dotted name, its line, and whether it runs with the module (not in a function)."""

    name: str
    line: int
    top: bool


def module_name(path: Path) -> str:
    """Return the dotted name inside the package: "boosting.results"; "boosting" and "__init__" for the two __init__."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def part_of(module: str) -> str:
    return module.split(".")[0]


def imports_of(path: Path) -> list[Import]:
    """Return what a module imports when it runs; blocks under TYPE_CHECKING do not run."""
    package = ("qreg_boost", *path.relative_to(PACKAGE).parts[:-1])

    def absolute(node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])

    def visit(node: ast.AST, top: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, top) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = absolute(child)
                yield from (Import(_known(f"{base}.{alias.name}", base), child.lineno, top) for alias in child.names)
            else:
                inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                yield from visit(child, top and not inside)

    return list(visit(ast.parse(path.read_text(encoding="utf-8")), True))


def _known(name: str, base: str) -> str:
    """Return `name` if it is a module of this package, else the module it is taken from."""
    inside = PACKAGE.joinpath(*name.split(".")[1:])
    is_module = name.startswith("qreg_boost.") and (inside.is_dir() or inside.with_suffix(".py").is_file())
    return name if is_module else base


FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {module_name(path): path for path in FILES}
IMPORTS = {module: imports_of(path) for module, path in MODULES.items()}


def own(imported: Import) -> str | None:
    """Return the module of this package that is imported, None for others."""
    if imported.name == "qreg_boost":
        return "__init__"
    return imported.name.removeprefix("qreg_boost.") if imported.name.startswith("qreg_boost.") else None


def place(module: str, imported: Import) -> str:
    return f"{MODULES[module].relative_to(ROOT)}:{imported.line} imports {imported.name}"


def room(module: str) -> int:
    """Return the rank of a module on its floor: 2 what a user fits, 1 what a user gets back, 0 what it is made of."""
    last = module.rsplit(".", 1)[-1]
    if last.endswith("model"):
        return 2
    return 1 if last.endswith("results") or last in {"several", "process"} else 0


def numeric(module: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in NUMERIC)


def gives_results(module: str) -> bool:
    """Return whether a module may hold what a user gets back: results.py, and rooms such as stopping.py."""
    return part_of(module) in (*WINGS, "base", "compose") and not numeric(module) and room(module) < 2


def test_every_part_of_the_house_has_its_rule() -> None:
    assert {part_of(module) for module in MODULES} - set(MAY_IMPORT) == set()


def test_parts_import_downwards_only() -> None:
    wrong = []
    for module, imports in IMPORTS.items():
        part = part_of(module)
        for imported in imports:
            target = own(imported)
            if target is None or part_of(target) == part:
                continue
            allowed = (
                part_of(target) in MAY_IMPORT[part]
                or (module, part_of(target)) in EXTRA_EDGES
                or (part, part_of(target)) in EXTRA_PARTS
                or (part_of(target) in REACHED_INSIDE_METHODS and not imported.top and gives_results(module))
            )
            if not allowed:
                wrong.append(place(module, imported))
    assert wrong == []


def test_rooms_of_a_wing_import_downwards_only() -> None:
    floors = (*WINGS, "base")
    wrong = [
        place(module, imported)
        for module, imports in IMPORTS.items()
        if part_of(module) in floors and "." in module
        for imported in imports
        if (target := own(imported)) and part_of(target) in floors and room(target) > room(module)
    ]
    assert wrong == []


def test_no_import_cycles() -> None:
    graph = {
        module: {target for i in imports if i.top and (target := own(i)) in MODULES and target != module}
        for module, imports in IMPORTS.items()
    }
    finished: set[str] = set()

    def walk(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module not in finished:
            for target in sorted(graph[module]):
                walk(target, (*trail, module))
            finished.add(module)

    for module in graph:
        walk(module, ())


@pytest.mark.parametrize("dependency", DOORS)
def test_one_door_per_dependency(dependency: str) -> None:
    doors = DOORS[dependency]
    wrong = [
        place(module, imported)
        for module, imports in IMPORTS.items()
        for imported in imports
        if imported.name.split(".")[0] == dependency
        and not any(module == door or module.startswith(f"{door}.") for door in doors)
    ]
    assert wrong == []


def test_compiled_kernels_are_imported_at_the_first_fit() -> None:
    compiled = {
        module for module, imports in IMPORTS.items() if any(i.top and i.name.split(".")[0] == "numba" for i in imports)
    }
    wrong = [
        place(module, imported)
        for module, imports in IMPORTS.items()
        if module not in compiled
        for imported in imports
        if imported.top and own(imported) in compiled
    ]
    assert wrong == []
    assert [module for module in compiled if room(module) > 0] == []


@pytest.mark.parametrize("heavy", ["statsmodels", "scipy.stats", "rpy2", "matplotlib", "sklearn", "cvxopt", "joblib"])
def test_heavy_packages_are_imported_where_used(heavy: str) -> None:
    inside_their_own_part = {"rpy2": "r", "sklearn": "sklearn", "cvxopt": "kernel.cone_program"}
    wrong = [
        place(module, imported)
        for module, imports in IMPORTS.items()
        for imported in imports
        if imported.top
        and (imported.name == heavy or imported.name.startswith(f"{heavy}."))
        and not module.startswith(inside_their_own_part.get(heavy, "nowhere"))
    ]
    assert wrong == []


def test_numeric_rooms_know_no_pandas() -> None:
    wrong = [
        place(module, imported)
        for module, imports in IMPORTS.items()
        if numeric(module)
        for imported in imports
        if imported.name.split(".")[0] in {"pandas", "patsy", "statsmodels"} or own(imported) == "base.design"
    ]
    assert wrong == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_name(path))
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", FILES, ids=lambda path: module_name(path))
def test_functions_are_short(path: Path) -> None:
    """Lines of a function, its docstring and nested blank lines aside; a loop that is compiled may use all of them."""
    long = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[1 if ast.get_docstring(node) is not None and len(node.body) > 1 else 0].lineno
            count = sum(1 for line in lines[first - 1 : node.end_lineno] if line.strip())
            if count > MOST_LINES_OF_A_FUNCTION:
                long.append(f"{node.name}: {count} lines")
    assert long == []


def test_no_module_with_a_vague_name() -> None:
    assert [module for module in MODULES if module.rsplit(".", 1)[-1] in VAGUE] == []
