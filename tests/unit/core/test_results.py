"""What a task may return, and how the refusal of anything else names the place."""

from __future__ import annotations

import json
import math
import re
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.results import MARK, StrictJson, to_json
from chongming_task.errors import ResultInvalid, TaskError

Point = namedtuple("Point", "x y")


class Colour(str, Enum):  # noqa: UP042 - the older way is what is meant
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Shade(StrEnum):
    DARK = "dark"


class Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "not what it holds"


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (-(2**70), -(2**70)),
        (1.5, 1.5),
        ("text", "text"),
        ("a\x00\ud800", "a␀�"),
        ([], []),
        ({}, {}),
        ((1, (2, 3)), [1, [2, 3]]),
        (Point(1, 2), [1, 2]),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ({"k\x00": 1}, {"k␀": 1}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Colour.RED, "red"),
        (Shade.DARK, "dark"),
        (Level.HIGH, 3),
        (Shouting("quiet"), "quiet"),
        ({Colour.RED: 1}, {"red": 1}),
    ],
)
def test_json_values_are_taken(value, stored):
    """As plain types: what this process reads equals what another one reads."""
    made = to_json(value)
    assert made == stored
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert type(made) is type(stored)
    if isinstance(made, dict):
        assert all(type(key) is str for key in made)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, r"nan at \$:"),
        ([1.0, -math.inf], r"-inf at \$\[1\]:"),
        ({"a": {"b": [0, math.inf]}}, r"inf at \$\.a\.b\[1\]:"),
        (b"bytes", r"builtins\.bytes at \$:"),
        ({1, 2}, r"builtins\.set at \$:"),
        ([{"x": {1}}], r"builtins\.set at \$\[0\]\.x:"),
        (object(), r"builtins\.object at \$:"),
        (datetime.now(UTC), r"datetime\.datetime at \$:"),
        (Decimal(1), r"decimal\.Decimal at \$:"),
        (Path(), r"Path at \$:"),
        (1j, r"complex at \$:"),
        (range(3), r"range at \$:"),
        ((each for each in ()), r"generator at \$:"),
        (print, r"builtin_function_or_method at \$:"),
        ({1: "one"}, r"the key 1 at \$:"),
        ({"a": [{None: 1}]}, r"the key None at \$\.a\[0\]:"),
        ({(1, 2): 1}, r"the key \(1, 2\) at \$:"),
    ],
)
def test_anything_else_is_refused_with_the_place(value, words):
    """And with what to do instead."""
    with pytest.raises(ResultInvalid, match=words) as caught:
        to_json(value)
    assert isinstance(caught.value, TaskError)
    assert isinstance(caught.value, TypeError)
    assert "return" in str(caught.value) or "use str(key)" in str(caught.value)


def test_a_whole_number_that_cannot_be_written_is_refused():
    """Python writes 4300 digits and no more."""
    for value in (10**5000, [10**4300], {"n": -(10**4300)}):
        with pytest.raises(ResultInvalid, match=r"whole number of more than 4300 digits at \$"):
            to_json(value)
    value = 10**4299
    assert to_json([value]) == [value]
    assert to_json(value) == value
    json.dumps(value)


def test_what_contains_itself_is_refused():
    """Lists, dicts, and both in turn; and nesting that breaks readers elsewhere."""
    knot: list[object] = []
    knot.append(knot)
    ring: dict[str, object] = {}
    ring["ring"] = [ring]
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    for value in (knot, ring, deep, [knot, knot]):
        with pytest.raises(ResultInvalid, match="deeper than 200 levels"):
            to_json(value)


def test_what_is_shared_is_no_knot():
    """The same list twice is two lists in JSON."""
    shared = [1]
    assert to_json([shared, shared]) == [[1], [1]]


def test_what_is_stored_is_a_copy():
    """A task that goes on changing its value changes nothing that was stored."""
    value = {"rows": [1]}
    made = to_json(value)
    value["rows"].append(2)
    assert made == {"rows": [1]}


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_key_that_cannot_be_shown_is_refused_all_the_same():
    """The refusal is about the result, not about the key's text."""
    with pytest.raises(ResultInvalid, match="Silent"):
        to_json({Silent(): 1})
    with pytest.raises(ResultInvalid, match="key"):
        to_json({10**5000: 1})


def test_the_words_of_a_refusal_are_short_and_clean():
    """Keys are a user's text: they stand in the path, and the path in a failure's message."""
    value = {"a\x00\ud800" + "k" * 100_000: {1}}
    with pytest.raises(ResultInvalid) as caught:
        to_json(value)
    words = str(caught.value)
    assert len(words) < 2_000
    assert "\x00" not in words
    words.encode()
    with pytest.raises(ResultInvalid) as caught:
        to_json({("x" * 100_000,): 1})
    assert len(str(caught.value)) < 2_000


def test_the_key_of_pointers_is_reserved():
    """A value that looks like a pointer would be read as one."""
    with pytest.raises(ResultInvalid, match=re.escape(f"the key {MARK!r} at $[0]: it is reserved")):
        to_json([{MARK: "x"}])


def test_what_is_no_json_may_be_made_some():
    """By whoever knows how; it is told the place."""
    made = to_json({"a": [1, {2}], "b": b"x"}, lambda value, place: f"{type(value).__name__} at {place}")
    assert made == {"a": [1, "set at $.a[1]"], "b": "bytes at $.b"}


def test_the_plain_policy_keeps_json_and_no_files(tmp_path):
    """Its folder is never made."""
    assert StrictJson().keep((1, "x"), tmp_path.joinpath("none").mkdir) == [1, "x"]
    with pytest.raises(ResultInvalid):
        StrictJson().keep(b"x", tmp_path.joinpath("none").mkdir)
    assert list(tmp_path.iterdir()) == []


def test_numpy_values_are_told_apart():
    """Its float is a float; its integers and arrays are not JSON, and are named."""
    np = pytest.importorskip("numpy")
    made = to_json([np.float64(1.5), np.str_("text")])
    assert [type(each) for each in made] == [float, str]
    with pytest.raises(ResultInvalid, match=r"numpy\.int64 at \$\.n:"):
        to_json({"n": np.int64(3)})
    for value in (np.bool_(True), np.float32(1), np.arange(3)):
        with pytest.raises(ResultInvalid, match=r"numpy\.\w+ at \$:"):
            to_json(value)
    with pytest.raises(ResultInvalid, match=r"nan.* at \$:"):
        to_json(np.float64("nan"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
@settings(deadline=None)
def test_json_stays_json(value):
    """What is made can be written strictly, reads back the same, and making it again changes nothing."""
    made = to_json(value)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert to_json(made) == made
