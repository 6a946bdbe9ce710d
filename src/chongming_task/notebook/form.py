"""A task's signature as a form: which fields it has, what they show at first, what goes in. Pure: no widgets here."""

from __future__ import annotations

import datetime
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path, PurePath
from typing import Any

from chongming_task.api.task import TaskSpec

__all__ = ["REQUIRED", "Choice", "Field", "Form", "Kind", "form_of"]

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()
"""Stands for the default of a field that has none."""


class Kind(StrEnum):
    """What sort of input a field is."""

    CHECK = "check"  # a box to tick
    WHOLE = "whole"  # a whole number
    NUMBER = "number"
    TEXT = "text"
    PATH = "path"
    CHOICE = "choice"  # one of a list
    DAY = "day"  # a date
    MOMENT = "moment"  # a date and a time of day
    LIST = "list"  # JSON
    MAPPING = "mapping"  # JSON
    LITERAL = "literal"  # a Python literal: whatever the table below does not know


class Choice(typing.NamedTuple):
    """One of the values that a field of a choice can have."""

    label: str
    value: Any


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter, or one option, as somebody fills it in."""

    name: str
    kind: Kind
    shown: Any = ""  # at first: text, a bool, a choice's number (None: none yet) or a date
    default: Any = REQUIRED  # what the task gets when the field is left as it was
    optional: bool = False  # left empty, it is None
    choices: tuple[Choice, ...] = ()
    make: Callable[[Any], Any] | None = None  # of what was read, such as `tuple` of a list
    help: str = ""  # what the docstring says of it
    passing: inspect._ParameterKind = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True, slots=True)
class Form:
    """All of a task's parameters."""

    task: str
    about: str  # the docstring's first paragraph
    fields: tuple[Field, ...]


def form_of(spec: TaskSpec) -> Form:
    """The form of a task.

    Args:
        spec: The task, as a registry has it.
    """
    about, helps = _read_docstring(inspect.getdoc(_underneath(spec.function)) or "")
    if spec.shape.signature is None:  # Python cannot tell: whatever it takes
        return Form(spec.name, about, (_rest_field("args", REST), _rest_field("kwargs", KEYWORDS)))
    hints = _hints_of(spec.function)
    parameters = spec.shape.signature.parameters.values()
    return Form(spec.name, about, tuple(_field_of(each, hints, helps.get(each.name, "")) for each in parameters))


REST, KEYWORDS = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def _rest_field(name: str, passing: inspect._ParameterKind, help_text: str = "") -> Field:
    """``*args`` as a list, ``**kwargs`` as a mapping; both may be left empty."""
    if passing is REST:
        return Field(name, Kind.LIST, default=(), help=help_text, passing=passing)
    return Field(name, Kind.MAPPING, default={}, help=help_text, passing=passing)


def _field_of(parameter: inspect.Parameter, hints: Mapping[str, Any], help_text: str) -> Field:
    if parameter.kind in (REST, KEYWORDS):
        return _rest_field(parameter.name, parameter.kind, help_text)
    default = REQUIRED if parameter.default is inspect.Parameter.empty else parameter.default
    hint, optional = _without_none(hints.get(parameter.name, _type_like(default)))
    kind, choices, make = _KINDS.get(hint) or _sort_of(hint)
    if optional and kind is Kind.CHECK:  # a box has no third state
        kind, choices = Kind.CHOICE, (Choice("True", True), Choice("False", False))
    if optional and kind is Kind.CHOICE:
        choices = (Choice("None", None), *choices)
    optional = optional or default is None
    shown = _shown(kind, choices, default)
    return Field(parameter.name, kind, shown, default, optional, choices, make, help_text, parameter.kind)


# ---- type → field


def _plain(kind: Kind, make: Callable[[Any], Any] | None = None) -> tuple[Kind, tuple[Choice, ...], Any]:
    return kind, (), make


_KINDS: Mapping[Any, tuple[Kind, tuple[Choice, ...], Any]] = {
    bool: _plain(Kind.CHECK),
    int: _plain(Kind.WHOLE),
    float: _plain(Kind.NUMBER),
    str: _plain(Kind.TEXT),
    Path: _plain(Kind.PATH),
    datetime.date: _plain(Kind.DAY),
    datetime.datetime: _plain(Kind.MOMENT),
    list: _plain(Kind.LIST),
    tuple: _plain(Kind.LIST, tuple),
    set: _plain(Kind.LIST, set),
    frozenset: _plain(Kind.LIST, frozenset),
    dict: _plain(Kind.MAPPING),
}
_ABSTRACT: Mapping[str, type] = {  # of collections.abc, by what JSON has for them
    "Sequence": list,
    "Iterable": list,
    "Collection": list,
    "MutableSequence": list,
    "Set": set,
    "Mapping": dict,
    "MutableMapping": dict,
}


def _sort_of(hint: Any) -> tuple[Kind, tuple[Choice, ...], Any]:
    """The kind of a type that is not in the table as it stands."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return Kind.CHOICE, tuple(Choice(str(value), value) for value in typing.get_args(hint)), None
    if origin is typing.Annotated or hasattr(hint, "__supertype__"):  # NewType
        return _kind_of(typing.get_args(hint)[0] if origin is typing.Annotated else hint.__supertype__)
    if origin is not None:
        return _kind_of(origin)
    if isinstance(hint, type):
        if issubclass(hint, Enum):
            return Kind.CHOICE, tuple(Choice(member.name, member) for member in hint), None
        if issubclass(hint, PurePath) or hint.__name__ == "PathLike":
            return Kind.PATH, (), None
        if hint.__module__ == "collections.abc" and hint.__name__ in _ABSTRACT:
            return _KINDS[_ABSTRACT[hint.__name__]]
    return Kind.LITERAL, (), None


def _kind_of(hint: Any) -> tuple[Kind, tuple[Choice, ...], Any]:
    return (_KINDS.get(hint) if isinstance(hint, type) else None) or _sort_of(hint)


def _without_none(hint: Any) -> tuple[Any, bool]:
    """``int | None`` is an int that may be left empty; other unions are whatever they are."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not types.NoneType]
        if len(members) < len(typing.get_args(hint)):
            return members[0] if len(members) == 1 else object, True
        if set(members) == {int, float}:
            return float, False
        if str in members and all(
            isinstance(each, type) and issubclass(each, PurePath) for each in members if each is not str
        ):
            return Path, False
        return object, False
    return hint, hint in (None, types.NoneType)


def _type_like(default: Any) -> Any:
    """The type of a parameter that has a default but no annotation."""
    return object if default is REQUIRED or default is None else type(default)


def _shown(kind: Kind, choices: tuple[Choice, ...], default: Any) -> Any:
    """What the input shows at first. Empty where a default cannot be written down: it is used all the same."""
    if kind is Kind.CHOICE:
        return next((number for number, choice in enumerate(choices) if choice.value == default), None)
    if kind is Kind.CHECK:
        return default is True
    if kind is Kind.DAY:
        return default if isinstance(default, datetime.date) else None
    if default is REQUIRED or default is None:
        return ""
    return _WRITERS.get(kind, str)(default)


def _as_json(value: Any) -> str:
    try:
        return json.dumps(sorted(value) if isinstance(value, set | frozenset) else value, ensure_ascii=False)
    except (TypeError, ValueError):
        return ""


def _as_literal(value: Any) -> str:
    import ast

    try:
        text = repr(value)
        return text if ast.literal_eval(text) == value else ""
    except Exception:  # its repr is no literal, or it cannot be compared
        return ""


_WRITERS: Mapping[Kind, Callable[[Any], str]] = {
    Kind.LIST: _as_json,
    Kind.MAPPING: _as_json,
    Kind.LITERAL: _as_literal,
    Kind.MOMENT: lambda moment: moment.isoformat(" ") if isinstance(moment, datetime.datetime) else "",
}


# ---- what a function says of itself


def _underneath(function: Any) -> Any:
    """What is behind ``functools.partial``: its own docstring and annotations are those of ``partial``."""
    import functools

    while isinstance(function, functools.partial):
        function = function.func
    return function


def _hints_of(function: Any) -> dict[str, Any]:
    """Its annotations; those that lead nowhere are left as they are written, and become literals."""
    target = _underneath(function)
    if isinstance(target, type):
        target = target.__dict__.get("__init__", target)
    elif not inspect.isroutine(target):
        target = type(target).__call__
    target = inspect.unwrap(target)
    try:
        return typing.get_type_hints(target)
    except Exception:  # a name that only a type checker knows
        return dict(getattr(target, "__annotations__", {}))


_SECTION = re.compile(r"(Args|Arguments|Parameters|Params)\s*:?\s*$")
_GOOGLE = re.compile(r"(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s+(.*)")
_SPHINX = re.compile(r"\s*:param(?:\s+\w+)?\s+\*{0,2}(\w+):\s*(.*)")


def _read_docstring(doc: str) -> tuple[str, dict[str, str]]:
    """Its first paragraph, and what it says of each parameter, in the styles of Google and of Sphinx."""
    about = " ".join(doc.split("\n\n", 1)[0].split()) if doc and not _SECTION.match(doc) else ""
    helps: dict[str, str] = {}
    last, depth, within = "", 0, False
    for line in doc.splitlines():
        indent = len(line) - len(line.lstrip())
        found = _SPHINX.match(line) or (_GOOGLE.match(line) if within else None)
        if _SECTION.match(line):
            within, last = True, ""
        elif within and line.strip() and not indent:
            within, last = False, ""
        elif found and (found.re is _SPHINX or not last or indent <= depth):
            last, depth = found[found.re.groups - 1], indent
            helps[last] = found[found.re.groups].strip()
        elif last and line.strip() and indent > depth:
            helps[last] = f"{helps[last]} {line.strip()}"
        else:
            last = ""
    return about, helps
