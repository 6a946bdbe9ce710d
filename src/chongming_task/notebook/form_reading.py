"""What somebody has filled into a form, as the arguments of a task; and what is wrong with it. Pure."""

from __future__ import annotations

import ast
import datetime
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chongming_task.notebook.form import KEYWORDS, REQUIRED, REST, Field, Form, Kind

__all__ = ["HINTS", "Reading", "Wrong", "read", "read_field"]


class Wrong(Exception):
    """A value that does not fit its field; says what to do, as a sentence for ``say`` with what goes into it."""

    def __init__(self, sentence: str, **values: Any) -> None:
        super().__init__(sentence.format(**values) if values else sentence)
        self.sentence = sentence
        self.values = values


@dataclass(frozen=True, slots=True)
class Reading:
    """What a form holds."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrong: Mapping[str, Wrong] = field(default_factory=dict)  # by field; empty: the task can be submitted


HINTS: Mapping[Kind, str] = {
    Kind.CHECK: "yes or no",
    Kind.WHOLE: "whole number",
    Kind.NUMBER: "number",
    Kind.TEXT: "text",
    Kind.PATH: "path",
    Kind.CHOICE: "one of these",
    Kind.DAY: "date",
    Kind.MOMENT: "date and time, such as 2026-11-30 14:05",
    Kind.LIST: "JSON list, such as [1, 2]",
    Kind.MAPPING: 'JSON object, such as {"a": 1}',
    Kind.LITERAL: "Python value, such as 1, 'text' or [1, 2]",
}
"""What goes into a field of that kind, in a few words for ``say``."""


def read(form: Form, filled: Mapping[str, Any]) -> Reading:
    """The arguments that a filled form stands for.

    What has a default and was left as it was is left out, so that the task's own default counts.

    Args:
        form: The task's form.
        filled: What each field's input holds.
    """
    values: dict[str, Any] = {}
    wrong: dict[str, Wrong] = {}
    for each in form.fields:
        try:
            values[each.name] = read_field(each, filled[each.name])
        except Wrong as error:
            wrong[each.name] = error
    if wrong:
        return Reading(wrong=wrong)
    return _arguments(form, values, {each.name for each in form.fields if _untouched(each, filled[each.name])})


def read_field(asked: Field, filled: Any) -> Any:
    """The value in one field.

    Args:
        asked: The field.
        filled: What its input holds: text, a bool, a choice's number or None, a date or None.

    Raises:
        Wrong: When that is no value for it.
    """
    if _untouched(asked, filled):
        return asked.default
    if filled is None or (isinstance(filled, str) and not filled.strip()):
        return _empty(asked, filled)
    value = _READERS[asked.kind](asked, filled)
    return value if asked.make is None else _made(asked, value)


def _untouched(asked: Field, filled: Any) -> bool:
    return asked.default is not REQUIRED and filled == asked.shown


def _empty(asked: Field, filled: Any) -> Any:
    """What an empty field says."""
    if asked.optional:
        return None
    if asked.default is REQUIRED:
        raise Wrong("choose one" if asked.kind is Kind.CHOICE else "fill this in")
    return filled if asked.kind is Kind.TEXT else asked.default


def _made(asked: Field, value: Any) -> Any:
    try:
        return asked.make(value) if asked.make is not None else value
    except TypeError:  # a set of lists, say
        raise Wrong("its members must be plain values: text, numbers, true or false") from None


def _arguments(form: Form, values: Mapping[str, Any], untouched: set[str]) -> Reading:
    by_position = [each for each in form.fields if each.passing is inspect.Parameter.POSITIONAL_ONLY]
    rest = next((values[each.name] for each in form.fields if each.passing is REST), ())
    if rest:  # whatever stands before it in the call has to be said
        by_position = [each for each in form.fields if each.passing in _POSITIONAL]
    while by_position and not rest and by_position[-1].name in untouched:
        by_position.pop()
    args = (*(values[each.name] for each in by_position), *rest)
    named = [each for each in form.fields if each not in by_position and each.passing in _NAMED]
    kwargs = {each.name: values[each.name] for each in named if each.name not in untouched}
    for each in form.fields:
        if each.passing is KEYWORDS:
            kwargs |= values[each.name]
    return Reading(tuple(args), kwargs)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


# ---- one reader a kind


def _whole(asked: Field, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Wrong("write a whole number, such as 10") from None


def _number(asked: Field, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Wrong("write a number, such as 0.5 or 1e-3") from None


def _choice(asked: Field, number: int) -> Any:
    return asked.choices[number].value


def _moment(asked: Field, text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise Wrong("write a date and a time, such as 2026-11-30 14:05, and +01:00 after it for a time zone") from None


def _json(kind: type, sentence: str) -> Callable[[Field, str], Any]:
    def reader(asked: Field, text: str) -> Any:
        try:
            value = json.loads(text)
        except ValueError as error:
            at = f" (character {error.pos + 1})" if isinstance(error, json.JSONDecodeError) else ""
            raise Wrong(sentence + "{at}", at=at) from None
        if not isinstance(value, kind):
            raise Wrong(sentence + "{at}", at="")
        return value

    return reader


def _literal(asked: Field, text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Wrong("write a Python value: 1, 'text' in quotes, [1, 2], {'a': 1}, True, None") from None


_READERS: Mapping[Kind, Callable[[Field, Any], Any]] = {
    Kind.CHECK: lambda asked, ticked: bool(ticked),
    Kind.WHOLE: _whole,
    Kind.NUMBER: _number,
    Kind.TEXT: lambda asked, text: str(text),
    Kind.PATH: lambda asked, text: Path(text.strip()),
    Kind.CHOICE: _choice,
    Kind.DAY: lambda asked, day: day,
    Kind.MOMENT: _moment,
    Kind.LIST: _json(list, "write a JSON list, such as [1, 2]; text goes in double quotes"),
    Kind.MAPPING: _json(dict, 'write a JSON object, such as {{"a": 1}}; text goes in double quotes'),
    Kind.LITERAL: _literal,
}
