"""Text of users is made safe once: no store refuses it, no terminal obeys it, nothing grows without bound."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.text import MESSAGE_LIMIT, NAME_LIMIT, TRACEBACK_LIMIT, clean

# Hypothesis leaves lone surrogates out by default; here they are the point.
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=400)
NASTY = st.text(st.sampled_from("\x00\x1b\x7f\x85\x9b\ud800\udfff\t\n\ra中🎉"), max_size=400)
SAFE_CONTROLS = "\t\n\r"


def unsafe(character: str) -> bool:
    code = ord(character)
    control = (code < 0x20 or 0x7F <= code <= 0x9F) and character not in SAFE_CONTROLS
    return control or 0xD800 <= code <= 0xDFFF


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\tb\nc\r\n", "a\tb\nc\r\n"),
        ("a\x00b", "a␀b"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07 back\x08", "bell␇ back␈"),
        ("del\x7f", "del�"),
        ("\x85\x9b31m", "��31m"),
        ("lone \ud83d and \udc80", "lone � and �"),
        ("whole 🎉 中文 é", "whole 🎉 中文 é"),
        ("no\xa0break", "no\xa0break"),
    ],
)
def test_what_chokes_a_store_or_a_terminal_becomes_visible(text, cleaned):
    """NUL, controls of both ranges but tab and line ends, lone surrogates; everything else stays."""
    assert clean(text) == cleaned


@given(ANY_TEXT | NASTY)
@settings(deadline=None)
def test_clean_text_is_safe_and_stays(text):
    """Every store can hold it, no character but the unsafe ones changed, and cleaning again changes nothing."""
    cleaned = clean(text)
    assert not any(map(unsafe, cleaned))
    cleaned.encode("utf-8")
    assert len(cleaned) == len(text)
    assert all(after == before or unsafe(before) for before, after in zip(text, cleaned, strict=True))
    assert clean(cleaned) == cleaned


@given(ANY_TEXT | NASTY, st.integers(0, 120))
@settings(deadline=None)
def test_text_is_never_longer_than_its_limit(text, limit):
    """Also where the mark itself would not fit; and what was cut stays as it is."""
    cut = clean(text, limit)
    assert len(cut) <= limit
    assert clean(cut, limit) == cut
    assert not any(map(unsafe, cut))
    if len(text) <= limit:
        assert cut == clean(text)


@given(st.integers(60, 200), st.integers(1, 100_000))
@settings(deadline=None)
def test_a_cut_says_how_much_is_missing(limit, more):
    """The number is true: what is left of the text and what the mark counts make the whole."""
    text = "a" * (limit + more)
    cut = clean(text, limit)
    (missing,) = re.findall(r" … \[(\d+) characters left out\] … ", cut)
    assert cut.count("a", 0, cut.index(" … [")) + cut.count("a", cut.index("] … ")) + int(missing) == len(text)


def test_a_cut_keeps_both_ends():
    """Twice as much of the beginning as of the end: both carry the news."""
    cut = clean("begin" + "x" * 5000 + "end", 200)
    head, tail = cut.split(" … [")[0], cut.split("] … ")[1]
    assert len(cut) == 200
    assert head.startswith("begin")
    assert tail.endswith("end")
    assert len(head) == pytest.approx(2 * len(tail), abs=2)


def test_the_limits_fit_what_they_are_for():
    """A name fits a table, a message a drawer, a traceback a page."""
    assert NAME_LIMIT < MESSAGE_LIMIT < TRACEBACK_LIMIT
