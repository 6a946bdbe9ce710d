"""The layer rules which import-linter cannot state: what is not ours and not the standard library, anywhere."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "chongming_task"
PURE = ("errors.py", "core", "api", "runtime", "observability", "cli")  # these load without any extra
# What a single executor needs stands in modules of its own, which load with it: tests/unit/test_import.py.
WITH_THEIR_EXTRA = {
    "runtime/executors/dask_connection.py: distributed",
    "runtime/executors/dask_scheduler.py: dask",
    "runtime/executors/dask_scheduler.py: distributed",
}
LAYERS = [name for name in PURE if (PACKAGE / name).exists()]


def modules(layer: str) -> list[Path]:
    path = PACKAGE / layer
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def module_level_imports(path: Path) -> Iterator[str]:
    """The top-level names which importing the file loads; type-checking blocks and function bodies do not count."""
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_of_the_base_package_loads_the_standard_library_only(layer):
    """Extras are for notebook/ and for single stores and executors, which load them when first needed."""
    foreign = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in modules(layer)
        for name in module_level_imports(path)
        if name not in sys.stdlib_module_names | {"chongming_task"}
    }
    assert foreign <= WITH_THEIR_EXTRA


def test_nothing_forks():
    """A fork beside threads can wait for ever for a lock that nobody holds: workers are fresh interpreters."""
    wanted = {"fork", "forkpty", "set_start_method", "get_context", "preexec_fn"}
    forks = {
        f"{path.relative_to(PACKAGE)}: {ast.unparse(node.func)}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in wanted
    }
    assert forks == set()
