"""Inputs of restartable tasks: what is given comes back as it was, or is refused; nothing changes silently."""

from __future__ import annotations

import math
from collections import OrderedDict
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.inputs import inputs_from, stored_inputs
from chongming_task.core.policies import Timeout
from chongming_task.errors import ConfigurationError
from chongming_task.stores import codec

# Every character there is, those that make trouble more often.
ANY_TEXT = st.text(st.characters() | st.sampled_from("\x00\x1b\ud800\udbff\udc00\udfff\U0001f600"), max_size=8)
CLEAN_TEXT = st.text(max_size=8)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LIMITS = st.none() | st.floats(1e-6, 1e9)


def containers(inner: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)


JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | CLEAN_TEXT, lambda inner: containers(inner, CLEAN_TEXT), max_leaves=20
)
HASHABLE = ANY_TEXT | st.integers() | st.booleans() | st.none() | st.floats() | st.tuples(st.integers())
ANYTHING = st.recursive(
    HASHABLE
    | st.binary(max_size=3)
    | st.builds(Decimal, st.integers())
    | st.builds(Fraction, st.integers())
    | st.dates()
    | st.builds(PurePosixPath, st.sampled_from("abc"))
    | st.builds(pow, st.sampled_from([-10, 10]), st.sampled_from([4299, 4300, 4301]))
    | st.frozensets(st.integers(), max_size=2),
    lambda inner: (
        containers(inner, HASHABLE) | st.tuples(inner, inner) | st.builds(lambda value: OrderedDict(a=value), inner)
    ),
    max_leaves=10,
)


def same(one: Any, other: Any) -> bool:
    """Whether nobody could tell them apart: equal, of the same types, in the same order, to the sign of a zero."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


def test_the_oracle_sees_what_equality_does_not():
    """Else the properties below say little."""
    assert same([{"a": (1, -0.0)}], [{"a": (1, -0.0)}])
    for one, other in [(1, True), (1, 1.0), (0.0, -0.0), ((1,), [1]), ({"a": 1, "b": 2}, {"b": 2, "a": 1})]:
        assert not same(one, other)
    assert not same(date(2024, 1, 1), date(2024, 1, 2))


def again(args: tuple[Any, ...], kwargs: dict[str, Any], timeout: Timeout | None = None) -> Any:
    """What another process finds."""
    stored = stored_inputs("task", args, kwargs, timeout)
    return inputs_from(codec.from_json(codec.to_json(stored)))


@given(st.lists(JSON, max_size=3), st.dictionaries(CLEAN_TEXT, JSON, max_size=3))
@settings(deadline=None)
def test_json_comes_back_as_it_was(args, kwargs):
    """None of it is refused."""
    found = again(tuple(args), kwargs)
    assert same(list(found), [tuple(args), kwargs, None])


@given(st.lists(ANYTHING, max_size=2), st.dictionaries(ANY_TEXT, ANYTHING, max_size=2))
@settings(deadline=None, max_examples=300)
def test_whatever_is_not_refused_comes_back_as_it_was(args, kwargs):
    """And what is refused is refused by its name."""
    try:
        found = again(tuple(args), kwargs)
    except ConfigurationError as refused:
        assert str(refused).startswith("argument ")  # noqa: PT017 - either way out is right, and has its promise
        return
    assert same(list(found), [tuple(args), kwargs, None])


@given(st.builds(Timeout, start=LIMITS, per_attempt=LIMITS, idle=LIMITS, grace=st.floats(0, 1e9)))
@settings(deadline=None)
def test_a_timeout_comes_back_as_it_was(timeout):
    """To the last digit."""
    assert again((), {}, timeout).timeout == timeout
