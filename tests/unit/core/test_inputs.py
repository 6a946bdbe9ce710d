"""The inputs of a restartable task: what is stored comes back equal; anything else is refused, with what to pass."""

from __future__ import annotations

import json
import math
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path

import numpy as np
import pytest

from chongming_task.core import inputs as inputs_module
from chongming_task.core.inputs import Inputs, inputs_from, stored_inputs
from chongming_task.core.policies import Timeout
from chongming_task.errors import ConfigurationError, NotRestartable, TaskError
from chongming_task.stores import codec

Point = namedtuple("Point", "x y")


class Level(IntEnum):
    HIGH = 3


class Shade(StrEnum):
    DARK = "dark"


class Colour(Enum):
    RED = "red"


class Key(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise RuntimeError("no")


def through_a_store(stored):
    """As a row of a database holds it, and another process reads it."""
    text = codec.to_json(stored)
    assert text.isascii()
    return codec.from_json(text)


def nested(levels):
    """A list in a list, and so on."""
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


KEPT = [
    None,
    True,
    0,
    -(2**70),
    10**4300 - 1,
    1.5,
    1.0,
    5e-324,
    "text",
    "",
    "a\x00b",
    "\x1b[0m",
    "name of a file that is no UTF-8: \udcff",
    "\ud800",
    "\udc00\ud800",
    "\U0001f600",
    [],
    {},
    [1, [2, {"b": None}]],
    {"": {"z": 1, "a": 2}},
    {"k\x00\ud800": 1},
    nested(200),
]


@pytest.mark.parametrize("value", KEPT, ids=range(len(KEPT)))
def test_json_comes_back_equal_and_unchanged(value):
    """Text too: NUL and lone surrogates are escaped, and need no cleaning as they would in plain columns."""
    found = inputs_from(through_a_store(stored_inputs("train", (value, 1), {"also": value})))
    assert found == Inputs((value, 1), {"also": value})
    assert type(found.args[0]) is type(value)
    assert list(found.kwargs) == ["also"]


def test_signs_and_orders_come_back():
    """A negative zero, and the order of keys, which equality does not see."""
    found = inputs_from(through_a_store(stored_inputs("train", (-0.0,), {"b": {"z": 1, "a": 2}, "a": 1})))
    assert math.copysign(1, found.args[0]) == -1
    assert (list(found.kwargs), list(found.kwargs["b"])) == (["b", "a"], ["z", "a"])


REFUSED = [
    # value, where and what it is, what to pass
    ((1, 2), "argument 2 of train is a tuple: it would come back as a list", "pass a list"),
    (Point(1, 2), "Point: it would come back as a list", "pass a list"),
    ([{"x": (1,)}], r"argument 2 of train holds a tuple at $[0].x", "pass a list"),
    ({1: "one"}, "argument 2 of train is a key of type int", "use str(key)"),
    ({"a": {None: 1}}, "holds a key of type NoneType at $.a", "use str(key)"),
    ({Key("k"): 1}, "key of type", "use str(key)"),
    (math.nan, "argument 2 of train is nan: JSON has no such number", "pass None or text"),
    ([1.0, -math.inf], "holds -inf at $[1]", "pass None or text"),
    ({1, 2}, "is a set: it is no JSON", "pass a list"),
    (frozenset(), "is a frozenset", "pass a list"),
    (range(3), "is a range", "pass a list"),
    (b"x", "is a bytes", "pass text, or the path of a file"),
    (bytearray(), "is a bytearray", "pass text, or the path of a file"),
    (Path("x"), "Path: it is no JSON", "pass str(path)"),
    (datetime.now(UTC), "is a datetime.datetime", "pass its isoformat()"),
    (Decimal(1), "is a decimal.Decimal", "pass plain values"),
    (object(), "is a object", "pass plain values, or save it, pass its path"),
    (print, "is a builtin_function_or_method", "pass plain values"),
    (Level.HIGH, "Level: it would come back as a plain value", "pass its .value"),
    (Shade.DARK, "Shade: it would come back as a plain value", "pass its .value"),
    (Colour.RED, "Colour", "pass its .value"),
    (Key("k"), "Key: it would come back as a plain str", "pass str(value)"),
    (OrderedDict(a=1), "is a collections.OrderedDict: it would come back as a plain dict", "pass dict(value)"),
    (10**4300, "is a whole number: it has more than 4300 digits", "pass hex(number)"),
    (["\ud83d\ude00"], "holds text with a pair of surrogates at $[0]: the two would come back as one", "utf-16"),
    ({"\ud83d\ude00": 1}, "is text with a pair of surrogates", "utf-16"),
    (nested(201), "nested deeper than 200 levels, or contains itself", "flatten it"),
]


@pytest.mark.parametrize(("value", "what", "instead"), REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused_with_what_to_pass_instead(value, what, instead):
    """Wherever it stands: by position, by name, and deep inside."""
    with pytest.raises(ConfigurationError) as caught:
        stored_inputs("train", (1, value), {})
    said = str(caught.value)
    assert what in said
    assert instead in said
    assert said.endswith(", or leave restartable=True away")
    with pytest.raises(ConfigurationError, match="argument 'also' of train"):
        stored_inputs("train", (), {"good": 1, "also": value})


def test_numpy_values_are_refused_with_what_they_hold():
    """Its float is a float, and comes back as another one; the rest is no JSON."""
    with pytest.raises(ConfigurationError, match=r"numpy\.float64: it would come back as a plain float; pass float\("):
        stored_inputs("train", (np.float64(1.5),), {})
    for value in (np.int64(3), np.bool_(True), np.float32(1), np.arange(3)):
        with pytest.raises(ConfigurationError, match=r"numpy\.\w+: it is no JSON; pass its tolist\(\)"):
            stored_inputs("train", (value,), {})


def test_a_name_that_is_no_plain_text_is_refused():
    """It would reach the function as another one, after a restart."""
    with pytest.raises(ConfigurationError, match="argument 'k' of train is a key of type"):
        stored_inputs("train", (), {Key("k"): 1})
    with pytest.raises(ConfigurationError, match="pair of surrogates"):
        stored_inputs("train", (), {"\ud83d\ude00": 1})


def test_what_contains_itself_is_refused():
    """Lists, dicts, and both in turn."""
    knot: list[object] = []
    knot.append(knot)
    ring: dict[str, object] = {}
    ring["ring"] = [ring]
    for value in (knot, ring, [knot, knot]):
        with pytest.raises(ConfigurationError, match="contains itself"):
            stored_inputs("train", (value,), {})


@pytest.mark.parametrize("grow", [lambda v: [v, v], lambda v: {"a": v, "b": v}], ids=["lists", "dicts"])
def test_what_is_small_here_and_endless_in_json_is_refused(monkeypatch, grow):
    """A list that holds one list twice, fifty times over, would be written out in full."""
    monkeypatch.setattr(inputs_module, "LARGEST_INPUTS", 10_000)
    value: object = 1
    for _ in range(50):
        value = grow(value)
    with pytest.raises(ConfigurationError, match=r"is too large: .* at most 10,000 characters; save it"):
        stored_inputs("train", (value,), {})


def test_all_arguments_together_are_counted(monkeypatch):
    """Text, keys and digits; the message names the one that is too many. What fits is kept to the last character."""
    monkeypatch.setattr(inputs_module, "LARGEST_INPUTS", 100)
    stored_inputs("train", ("x" * 98,), {})
    with pytest.raises(ConfigurationError, match="argument 1 of train is too large"):
        stored_inputs("train", ("x" * 99,), {})
    with pytest.raises(ConfigurationError, match="argument 3 of train is too large"):
        stored_inputs("train", ("x" * 60, 1, {"y" * 60: 1}), {})
    with pytest.raises(ConfigurationError, match="argument 'n' of train is too large"):
        stored_inputs("train", (), {"n": 10**400})


def test_what_is_shared_is_no_knot():
    """The same list twice is two lists in JSON."""
    shared = [1]
    assert inputs_from(stored_inputs("train", (shared, [shared, shared]), {})).args == ([1], [[1], [1]])


def test_what_is_stored_is_a_copy_and_what_comes_back_is_another():
    """The record changes neither with the caller's list nor with that of a task which runs again."""
    rows = {"rows": [1]}
    stored = stored_inputs("train", (rows,), {"also": rows})
    rows["rows"].append(2)
    found = inputs_from(stored)
    found.args[0]["rows"].append(3)
    found.kwargs["also"]["rows"].append(3)
    found.kwargs["more"] = 1
    assert stored == {"args": [{"rows": [1]}], "kwargs": {"also": {"rows": [1]}}}


@pytest.mark.parametrize("timeout", [Timeout(per_attempt=60, idle=0.5), Timeout(start=1, grace=0)])
def test_a_timeout_of_the_submission_comes_back(timeout):
    """With every field of it."""
    stored = stored_inputs("train", (), {}, timeout)
    assert inputs_from(through_a_store(stored)).timeout == timeout
    assert "timeout" not in stored_inputs("train", (), {})
    assert inputs_from(stored_inputs("train", (), {})).timeout is None


def test_the_words_of_a_refusal_are_short_and_clean():
    """Names and keys are a user's text."""
    nasty = "a\x00\ud800" + "k" * 100_000
    for args, kwargs in [(({nasty: {nasty: {1}}},), {}), ((), {nasty: {1}})]:
        with pytest.raises(ConfigurationError) as caught:
            stored_inputs("train", args, kwargs)
        words = str(caught.value)
        assert len(words) < 1_000
        assert "\x00" not in words
        words.encode()


DAMAGED = [
    (None, "not stored: submit it again, or declare it @task(restartable=True)"),
    (5, "not what this version writes"),
    ([], "not what this version writes"),
    ({}, "not what this version writes"),
    ({"args": []}, "not what this version writes"),
    ({"args": [], "kwargs": {}, "retry": {}}, "not what this version writes"),
    ({"args": {}, "kwargs": {}}, "no arguments"),
    ({"args": [], "kwargs": []}, "no arguments"),
    ({"args": [{1}], "kwargs": {}}, "damaged: argument 1 is a set"),
    ({"args": [], "kwargs": {1: 2}}, "damaged: argument without a name is a key of type int"),
    ({"args": [nested(300)], "kwargs": {}}, "damaged: argument 1 holds a value"),
    ({"args": [], "kwargs": {}, "timeout": 5}, "timeout is damaged"),
    ({"args": [], "kwargs": {}, "timeout": {"idle": "x"}}, "timeout is damaged"),
    ({"args": [], "kwargs": {}, "timeout": {"later": 5}}, "timeout is damaged"),
]


@pytest.mark.parametrize(("stored", "words"), DAMAGED, ids=range(len(DAMAGED)))
def test_what_was_not_stored_so_cannot_be_run(stored, words):
    """Nothing, something of a newer version, something written by hand."""
    with pytest.raises(NotRestartable) as caught:
        inputs_from(stored)
    assert words in str(caught.value)
    assert "submit it again" in str(caught.value)
    assert isinstance(caught.value, TaskError)


def test_a_record_is_one_json_object():
    """As a reader of the store finds it."""
    stored = stored_inputs("train", (1, "a"), {"deep": True}, Timeout(idle=5))
    assert json.loads(codec.to_json(stored)) == {
        "args": [1, "a"],
        "kwargs": {"deep": True},
        "timeout": {"start": None, "per_attempt": None, "idle": 5.0, "grace": 5.0},
    }
