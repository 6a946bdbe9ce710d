"""Any exception becomes plain data, also one that cannot be printed."""

from __future__ import annotations

import sys

import pytest

from chongming_task.core.failures import Failure, FailureKind, describe_exception
from chongming_task.core.text import MESSAGE_LIMIT, TRACEBACK_LIMIT


def caught(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as found:
        return found


def test_an_exception_is_described():
    """Kind, words, frames, type; whether it may be retried is the caller's to say."""
    failure = describe_exception(caught(KeyError("x")), retryable=True)
    assert failure.kind is FailureKind.EXCEPTION
    assert failure.message == "'x'"
    assert failure.exception_type == "builtins.KeyError"
    assert failure.traceback is not None
    assert failure.traceback.startswith("Traceback (most recent call last):")
    assert "in caught" in failure.traceback
    assert failure.traceback.endswith("KeyError: 'x'\n")
    assert failure.retryable
    assert not describe_exception(ValueError()).retryable


def test_the_cause_is_told():
    """Chained, as Python tells it."""
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        told = describe_exception(error).traceback
    assert told is not None
    assert told.index("inner") < told.index("direct cause") < told.index("outer")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class NotText(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # noqa: PLE0307 - that it is no text is the point


@pytest.mark.parametrize(("kind", "why"), [(Unprintable, "RuntimeError"), (NotText, "TypeError")])
def test_a_broken_text_does_not_hide_the_failure(kind, why):
    """The frames are there, and the message says what went wrong with the text."""
    failure = describe_exception(caught(kind("x")))
    assert failure.message == f"<{kind.__name__}, and its __str__ raised {why}>"
    assert failure.exception_type == f"{__name__}.{kind.__name__}"
    assert failure.traceback is not None
    assert "in caught" in failure.traceback


def test_frames_survive_a_formatter_that_fails(monkeypatch):
    """Some exceptions break Python's own formatting, by attributes that are not what they should be."""

    def broken(*args: object) -> list[str]:
        raise AttributeError("no such luck")

    monkeypatch.setattr("traceback.format_exception", broken)
    failure = describe_exception(caught(KeyError("x")))
    assert failure.traceback is not None
    assert "in caught" in failure.traceback
    assert "'x' (formatting it raised AttributeError)" in failure.traceback


def test_an_odd_syntax_error_is_described():
    """Its attributes can be anything."""
    error = SyntaxError("bad")
    error.filename, error.lineno, error.text, error.offset = 3, "x", 5, "y"  # type: ignore[assignment]
    assert describe_exception(caught(error)).exception_type == "builtins.SyntaxError"


def test_a_message_of_any_size_is_cut():
    """With a mark in the middle, both ends kept."""
    failure = describe_exception(caught(ValueError("begin" + "x" * 10**6 + "end")))
    assert len(failure.message) == MESSAGE_LIMIT
    assert failure.message.startswith("begin")
    assert failure.message.endswith("end")
    assert "characters left out" in failure.message


def test_a_traceback_of_any_size_is_cut():
    """A long chain of causes: the first and the last are kept."""
    error: Exception = ValueError("first")
    for number in range(800):
        later = KeyError(f"{number:03d}" + "y" * 300)
        later.__cause__ = error
        error = later
    failure = describe_exception(error)
    assert failure.traceback is not None
    assert len(failure.traceback) == TRACEBACK_LIMIT
    assert "characters left out" in failure.traceback
    assert "first" in failure.traceback[:200]
    assert "'799y" in failure.traceback[-400:]


def test_a_deep_recursion_is_described():
    """The repeated frames are folded by Python."""

    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError) as found:
        deeper()
    failure = describe_exception(found.value)
    assert failure.exception_type == "builtins.RecursionError"
    assert failure.traceback is not None
    assert len(failure.traceback) < 10_000


def test_text_is_cleaned():
    """A message with NUL, colours and half a character is stored and shown as text."""
    failure = describe_exception(caught(ValueError("a\x00b \x1b[31m \ud800")))
    assert failure.message == "a␀b ␛[31m �"
    for text in (failure.message, failure.traceback, failure.exception_type):
        assert text is not None
        assert "\x00" not in text
        text.encode()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("base")])
def test_what_is_no_exception_is_described_as_well(error):
    """A task may raise it, or call sys.exit."""
    failure = describe_exception(caught(error))
    assert failure.exception_type == f"builtins.{type(error).__name__}"


def test_groups_keep_their_members():
    """As asyncio.TaskGroup raises them."""
    group = ExceptionGroup("several", [ValueError("one"), KeyError("two")])
    told = describe_exception(caught(group)).traceback
    assert told is not None
    assert "one" in told
    assert "two" in told


def test_a_type_without_a_home_is_named():
    """Classes made on the fly, with a name nobody should have."""
    kind = type("Odd\x1b", (Exception,), {"__module__": None})
    assert describe_exception(kind()).exception_type == "None.Odd␛"


def test_a_failure_is_plain_data():
    """Frozen, comparable, hashable: it crosses to other processes and into stores."""
    one, two = Failure(FailureKind.NONZERO_EXIT, "exit 3", exit_code=3), Failure(FailureKind.NONZERO_EXIT, "exit 3")
    assert one != two
    assert len({one, two, one}) == 2
    with pytest.raises(AttributeError):
        one.message = "other"  # type: ignore[misc]
    assert sys.getsizeof(one) < 200
