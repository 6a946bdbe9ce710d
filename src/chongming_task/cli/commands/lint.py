"""``lint``: loops in tasks that never reach a checkpoint. Reads source, and runs none of it."""

from __future__ import annotations

import tokenize
from argparse import Namespace
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from chongming_task.api.checkpoint_lint import Finding, lint_source
from chongming_task.cli.console import Console
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.modules import here_first
from chongming_task.cli.render.text import plain
from chongming_task.errors import UnknownTask

__all__ = ["lint"]


def lint(options: Namespace, console: Console) -> int:
    """Look at files, folders and modules."""
    paths = list(dict.fromkeys(path for target in options.targets for path in _sources(target)))
    found = [finding for path in paths for finding in _look(path)]
    if console.json:
        console.document({"files": len(paths), "findings": [finding._asdict() for finding in found]})
    else:
        console.lines(plain(f"{each.path}:{each.line}: {each.message}") for each in found)
        loops = "1 loop never reaches" if len(found) == 1 else f"{len(found)} loops never reach"
        console.note(f"{len(paths)} {'file' if len(paths) == 1 else 'files'}: {loops} a checkpoint")
    return ExitCode.FAILED if found else ExitCode.DONE


def _look(path: Path) -> list[Finding]:
    try:
        with tokenize.open(path) as file:  # in the encoding that the file declares
            text = file.read()
    except (OSError, SyntaxError, ValueError) as error:
        return [Finding(str(path), 1, "", "", f"this cannot be read: {error}")]
    return lint_source(text, str(path))


def _sources(target: str) -> Iterator[Path]:
    path = Path(target)
    if not path.exists():
        path = _of_module(target)
    if path.is_dir():
        yield from sorted(path.rglob("*.py"))
    else:
        yield path


def _of_module(name: str) -> Path:
    """The file of a module, or the folder of a package, found without importing what it is in.

    Raises:
        UnknownTask: When there is none.
    """
    search = None
    spec = None
    with here_first():
        for place, _ in enumerate(parts := name.split("."), start=1):
            spec = PathFinder.find_spec(".".join(parts[:place]), search) if all(parts) else None
            if spec is None:
                break
            search = spec.submodule_search_locations
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise UnknownTask(f"no file, folder or module {name!r:.200}, from here or installed")
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(str(spec.origin))
