"""What a docstring says: read as Google's style has it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from chongming_task.runtime.context import TaskContext

__all__ = ["MODULES", "Said", "methods_of", "parameters_of", "public_names", "raised_by", "said_by"]

MODULES = (
    "chongming_task",
    "chongming_task.checkpoint_lint",
    "chongming_task.history",
    "chongming_task.observability.logs",
    "chongming_task.observability.opentelemetry",
    "chongming_task.observability.prometheus",
    "chongming_task.testing",
    "chongming_task.tqdm",
)
VIEWS = (
    "card.Card",
    "launcher.Launcher",
    "panel.Panel",
    "pipeline_view.PipelineView",
    "task_model.TaskModel",
    "timeline.Timeline",
)
"""What of the notebook people make themselves, or are given."""


@dataclass(frozen=True, slots=True)
class Said:
    """A docstring, taken apart."""

    text: str
    args: dict[str, str]  # what it says of each
    raises: bool
    example: bool
    elsewhere: bool  # it leaves the rest to another docstring, which it names


def said_by(thing: Any) -> Said | None:
    """What a thing says of itself; None when it says nothing of its own."""
    text = inspect.getdoc(thing) if not isinstance(thing, type) else inspect.cleandoc(vars(thing).get("__doc__") or "")
    if not text or re.fullmatch(r"\w+\(.*\)", text, re.DOTALL):  # dataclasses and named tuples write one by themselves
        return None
    return Said(
        text,
        args=dict(_entries(_section(text, "Args") + _section(text, "Attributes"))),
        raises="Raises:" in text,
        example=">>>" in text,
        elsewhere=re.search(r"[Ss]ee :(meth|class|func)|as (for )?:meth|[Tt]he same", text) is not None,
    )


def _section(text: str, name: str) -> str:
    found = re.search(rf"^{name}:\n((?:[ ].*\n?|\n)*)", text, re.MULTILINE)
    return "" if found is None else textwrap.dedent(found[1])


def _entries(section: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"^\*{0,2}(\w+): ?(.*(?:\n(?:[ ]+.*|$))*)", section, re.MULTILINE):
        yield found[1], found[2]


def public_names() -> dict[str, Any]:
    """Every public name, by its path."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        found |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__ if name[0] != "_"}
    for place, _, name in (view.partition(".") for view in VIEWS):
        found[f"chongming_task.notebook.{place}.{name}"] = getattr(
            importlib.import_module(f"chongming_task.notebook.{place}"), name
        )
    return found


def methods_of(cls: type) -> dict[str, Any]:
    """The public methods and properties of a class that are ours, also those of its parts."""
    found: dict[str, Any] = {}
    for part in reversed(cls.__mro__):
        if part.__module__.startswith("chongming_task"):
            found |= {name: value for name, value in vars(part).items() if name[0] != "_" and _is_method(value)}
    return found


def _is_method(value: Any) -> bool:
    return isinstance(value, (property, classmethod, staticmethod)) or inspect.isfunction(value)


def parameters_of(thing: Any) -> list[inspect.Parameter]:
    """What a caller gives: of a class, what its ``__init__`` takes.

    Not of records, which say beside each field what it is; nor of protocols, and of the context, which no caller makes.
    """
    if isinstance(thing, type):
        made = vars(thing).get("__init__")
        if made is None or thing is TaskContext or getattr(thing, "_is_protocol", False) or _is_generated(made):
            return []
        thing = made
    if isinstance(thing, (classmethod, staticmethod)):
        thing = thing.__func__
    if isinstance(thing, property) or not callable(thing):
        return []
    return [each for each in inspect.signature(thing).parameters.values() if each.name not in ("self", "cls")]


def _is_generated(function: Any) -> bool:
    """Whether a dataclass has written it."""
    return inspect.isfunction(function) and function.__code__.co_filename.startswith("<")


def raised_by(thing: Any) -> list[str]:
    """The names of the exceptions that its own lines raise."""
    function: Callable[..., Any] | None = getattr(thing, "fget", None) or getattr(thing, "__func__", None) or thing
    if isinstance(thing, type):
        function = vars(thing).get("__post_init__") or vars(thing).get("__init__")
    if not inspect.isfunction(function) or _is_generated(function) or getattr(thing, "_is_protocol", False):
        return []
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    named = [node.func if isinstance(node, ast.Call) else node for node in raised]
    return [node.id for node in named if isinstance(node, ast.Name) and node.id != "NotImplementedError"]
