"""A signature as a form, and a filled form as arguments: `notebook/form.py`, `form_reading.py`, `form_options.py`."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, Union

import pytest

from chongming_task import RetryPolicy, TaskContext, Timeout, task
from chongming_task.api.task import spec_of
from chongming_task.notebook.form import REQUIRED, Field, Form, Kind, form_of
from chongming_task.notebook.form_options import option_fields, read_options
from chongming_task.notebook.form_reading import HINTS, Wrong, read, read_field

UserId = NewType("UserId", int)


class Colour(Enum):
    RED = 1
    BLUE = 2


def form(function: Any) -> Form:
    return form_of(spec_of(function))


def only(annotation: Any, default: Any = REQUIRED) -> Field:
    """The field of one parameter."""

    def function(value: Any) -> None:
        """Does nothing."""

    function.__annotations__["value"] = annotation
    if default is not REQUIRED:
        function.__defaults__ = (default,)
    return form(function).fields[0]


DAY = datetime.date(2026, 11, 30)
MOMENT = datetime.datetime(2026, 11, 30, 14, 5)

# type, kind, what the input shows at first, what somebody fills in, what the task gets
TABLE: list[tuple[Any, Kind, Any, Any, Any]] = [
    (bool, Kind.CHECK, False, True, True),
    (int, Kind.WHOLE, "", " 12 ", 12),
    (int, Kind.WHOLE, "", "123456789012345678901", 123456789012345678901),
    (float, Kind.NUMBER, "", "1e-3", 0.001),
    (float | int, Kind.NUMBER, "", "2", 2.0),
    (str, Kind.TEXT, "", " as it is ", " as it is "),
    (Path, Kind.PATH, "", " data/a.csv", Path("data/a.csv")),
    (str | Path, Kind.PATH, "", "a.csv", Path("a.csv")),
    (Literal["mean", "max", 3], Kind.CHOICE, None, 2, 3),
    (Colour, Kind.CHOICE, None, 1, Colour.BLUE),
    (datetime.date, Kind.DAY, None, DAY, DAY),
    (datetime.datetime, Kind.MOMENT, "", "2026-11-30 14:05", MOMENT),
    (list, Kind.LIST, "", '[1, "two"]', [1, "two"]),
    (list[int], Kind.LIST, "", "[1]", [1]),
    (Sequence[str], Kind.LIST, "", '["a"]', ["a"]),
    (tuple[int, ...], Kind.LIST, "", "[1, 2]", (1, 2)),
    (set[str], Kind.LIST, "", '["a", "a"]', {"a"}),
    (dict[str, int], Kind.MAPPING, "", '{"a": 1}', {"a": 1}),
    (Mapping[str, Any], Kind.MAPPING, "", "{}", {}),
    (Optional[int], Kind.WHOLE, "", "", None),  # noqa: UP045 - people write it so
    (int | None, Kind.WHOLE, "", "3", 3),
    (str | None, Kind.TEXT, "", "", None),
    (bool | None, Kind.CHOICE, None, 0, None),
    (bool | None, Kind.CHOICE, None, 2, False),
    (Literal["a", None], Kind.CHOICE, None, 0, "a"),
    (Annotated[int, "how many"], Kind.WHOLE, "", "4", 4),
    (UserId, Kind.WHOLE, "", "7", 7),
    (Union[int, str], Kind.LITERAL, "", "'x'", "x"),  # noqa: UP007 - the same
    (complex, Kind.LITERAL, "", "1+2j", 1 + 2j),
    (Any, Kind.LITERAL, "", "{'a': (1, None)}", {"a": (1, None)}),
    ("NobodyKnows", Kind.LITERAL, "", "[True]", [True]),
]


@pytest.mark.parametrize(("annotation", "kind", "shown", "filled", "value"), TABLE)
def test_a_type_becomes_a_field(annotation, kind, shown, filled, value):
    """Which shows what can go in, and reads it."""
    field = only(annotation)
    assert (field.kind, field.shown) == (kind, shown)
    got = read_field(field, filled)
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (bool, True, True),
        (int, 3, "3"),
        (float, 0.5, "0.5"),
        (str, "a", "a"),
        (Path, Path("x/y"), "x/y"),
        (Literal["a", "b"], "b", 1),
        (Colour, Colour.RED, 0),
        (datetime.date, DAY, DAY),
        (datetime.datetime, MOMENT, "2026-11-30 14:05:00"),
        (list[str], ["é", "b"], '["é", "b"]'),
        (set[int], {2, 1}, "[1, 2]"),
        (dict[str, int], {"a": 1}, '{"a": 1}'),
        (int | None, None, ""),
        (int | None, 4, "4"),
        (bool | None, None, 0),
        (int, None, ""),
        (Any, (1, "x"), "(1, 'x')"),
        (Any, object(), ""),
        (list, [object()], ""),
    ],
)
def test_a_default_is_shown_and_left_to_the_task(annotation, default, shown):
    """The very object, not one that was read back."""
    field = only(annotation, default)
    assert field.shown == shown
    assert read_field(field, shown) is default


@pytest.mark.parametrize(
    ("default", "kind"), [(True, "check"), (3, "whole"), ("a", "text"), ([], "list"), (None, "literal")]
)
def test_a_default_tells_the_type_where_nobody_else_does(default, kind):
    """A parameter without an annotation."""

    def function(value=default):
        return value

    assert form(function).fields[0].kind == kind


@pytest.mark.parametrize(
    ("annotation", "filled", "said"),
    [
        (int, "1.5", "write a whole number, such as 10"),
        (int, "  ", "fill this in"),
        (str, "", "fill this in"),
        (float, "1,5", "write a number, such as 0.5 or 1e-3"),
        (Literal["a"], None, "choose one"),
        (datetime.date, None, "fill this in"),
        (datetime.datetime, "tomorrow", "write a date and a time, such as 2026-11-30 14:05, and +01:00 after it"),
        (list, "[1, x]", "write a JSON list, such as [1, 2]; text goes in double quotes (character 5)"),
        (list, '{"a": 1}', "write a JSON list, such as [1, 2]"),
        (dict, "[1]", 'write a JSON object, such as {"a": 1}'),
        (set[Any], "[[1]]", "its members must be plain values"),
        (Any, "abc", "write a Python value: 1, 'text' in quotes, [1, 2], {'a': 1}, True, None"),
        (Any, "__import__('os')", "write a Python value"),
    ],
)
def test_a_wrong_value_says_what_to_do(annotation, filled, said):
    """In a sentence that fits under the field; nothing is evaluated."""
    with pytest.raises(Wrong) as caught:
        read_field(only(annotation), filled)
    assert str(caught.value).startswith(said)


def test_what_is_left_as_it_was_is_left_out():
    """So that the task's own defaults count; the context is no field."""

    @task
    def train(ctx: TaskContext, rows: int, rate: float = 0.1, *, seed: int = 7, name: str = "a") -> None:
        """Trains."""

    fields = form(train)
    assert [each.name for each in fields.fields] == ["rows", "rate", "seed", "name"]
    reading = read(fields, {"rows": "5", "rate": "0.1", "seed": "8", "name": ""})
    assert (reading.args, reading.kwargs, reading.wrong) == ((), {"rows": 5, "seed": 8, "name": ""}, {})


def test_all_wrong_fields_are_told_at_once():
    """Not one after the other."""

    def train(rows: int, rate: float, name: str = "a") -> None:
        """Trains."""

    reading = read(form(train), {"rows": "x", "rate": "", "name": "b"})
    assert set(reading.wrong) == {"rows", "rate"}


def test_every_way_of_passing_is_kept():
    """Positions alone, keywords alone, and the rest of both."""

    def everything(a: int, b: int = 2, /, c: int = 3, *more: int, d: int = 4, **others: int) -> None:
        """Takes everything."""

    fields, left = form(everything), {"a": "1", "b": "2", "c": "3", "more": "", "d": "4", "others": ""}
    assert [read(fields, left).args, read(fields, left).kwargs] == [(1,), {}]
    reading = read(fields, {**left, "c": "30", "others": '{"e": 5}'})
    assert (reading.args, reading.kwargs) == ((1,), {"c": 30, "e": 5})
    reading = read(fields, {**left, "more": "[8, 9]", "d": "40"})
    assert (reading.args, reading.kwargs) == ((1, 2, 3, 8, 9), {"d": 40})


GOOGLE = """Trains a model.

Of any kind.

Args:
    rows: How many rows,
        at most.
    rate (float): How fast.

Returns:
    rows: Not this.
"""
SPHINX = """Trains a model.

:param rows: How many rows,
    at most.
:param float rate: How fast.
:returns: Nothing.
"""


@pytest.mark.parametrize("doc", [GOOGLE, SPHINX])
def test_the_docstring_helps(doc):
    """Its first paragraph above the form, the rest at the fields."""

    def train(rows: int, rate: float, other: int = 1) -> None: ...

    train.__doc__ = doc
    made = form(train)
    assert made.about == "Trains a model."
    assert [each.help for each in made.fields] == ["How many rows, at most.", "How fast.", ""]


def test_whatever_can_be_called_has_a_form():
    """A class, an object, a partial, a builtin whose signature nobody can tell."""

    class Add:
        def __init__(self, left: int) -> None:
            self.left = left

        def __call__(self, right: int) -> int:
            return self.left + right

    assert [(each.name, each.kind) for each in form(Add).fields] == [("left", "whole")]
    assert [(each.name, each.kind) for each in form(Add(1)).fields] == [("right", "whole")]
    assert [(each.name, each.shown) for each in form(functools.partial(Add, left=3)).fields] == [("left", "3")]
    assert [each.name for each in form(dict).fields] == ["args", "kwargs"]
    assert read(form(dict), {"args": "", "kwargs": '{"a": 1}'}).kwargs == {"a": 1}


def test_the_options_begin_with_what_the_task_says():
    """And only what is changed is passed; a policy keeps what it says beside."""
    spec = task(retry=RetryPolicy(max_attempts=3, backoff="none"), timeout=Timeout(per_attempt=60, idle=5))(len).spec
    shown = {each.name: each.shown for each in option_fields(spec)}
    assert shown == {"name": "", "attempts": "3", "time limit": "60", "tags": ""}
    assert read_options(spec, shown) == ({}, {})
    options, wrong = read_options(spec, {"name": " mine ", "attempts": "5", "time limit": "", "tags": "a, b,"})
    assert wrong == {}
    assert options == {
        "name": "mine",
        "retry": RetryPolicy(max_attempts=5, backoff="none"),
        "timeout": Timeout(idle=5),
        "tags": {"a", "b"},
    }
    _, wrong = read_options(spec, {"name": "", "attempts": "0", "time limit": "-1", "tags": ""})
    assert {name: str(error) for name, error in wrong.items()} == {
        "attempts": "write 1 or more",
        "time limit": "write more than 0 seconds, or leave it empty for no limit",
    }


def test_every_kind_has_a_hint():
    """In a few words."""
    assert set(HINTS) == set(Kind)
