"""The tasks of a module that the operator names. Only this module is imported; names come from nowhere else."""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from chongming_task.api.task import TaskFunction
from chongming_task.errors import ConfigurationError, UnknownTask

__all__ = ["here_first", "task_of", "tasks_in"]

Tasks = dict[str, TaskFunction[..., object]]


@contextmanager
def here_first() -> Iterator[None]:
    """Look for modules in the current folder too, as ``python -m`` does."""
    here = str(Path.cwd())
    added = here not in sys.path and "" not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        yield
    finally:
        if added and here in sys.path:
            sys.path.remove(here)


def tasks_in(module: str) -> Tasks:
    """The ``@task`` functions of a module, by the names of the tasks.

    Raises:
        UnknownTask: When there is no such module.
        ConfigurationError: When it cannot be imported, or two tasks share a name.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # to stay: a worker in a process of its own imports the module as well
    try:
        held = vars(import_module(module))
    except ModuleNotFoundError as missing:
        if missing.name is not None and (module == missing.name or module.startswith(f"{missing.name}.")):
            raise UnknownTask(f"no module {module!r:.200}, in this folder or installed") from None
        raise ConfigurationError(f"the module {module!r} needs {missing.name!r}, which is not there") from None
    except Exception as error:  # whatever a module raises that is imported: to be told whole, it is the operator's
        told = "".join(traceback.format_exception(error))
        raise ConfigurationError(f"the module {module!r:.200} cannot be imported\n{told}") from None
    found: Tasks = {}
    for each in held.values():
        if (
            isinstance(each, TaskFunction)
            and found.setdefault(each.spec.name, each).spec.function != each.spec.function
        ):
            raise ConfigurationError(f"two tasks of {module} are called {each.spec.name!r}; give one another name=")
    return found


def task_of(module: str, name: str) -> TaskFunction[..., object]:
    """One of them.

    Raises:
        UnknownTask: When there is none of that name; says which there are.
    """
    found = tasks_in(module)
    if name in found:
        return found[name]
    close = difflib.get_close_matches(name, found, n=1)
    known = f"it has {', '.join(sorted(found))}" if found else "it has none: write @task above a function"
    hint = f"did you mean {close[0]!r}?" if close else known
    raise UnknownTask(f"no task {name!r:.200} in {module}; {hint}")
