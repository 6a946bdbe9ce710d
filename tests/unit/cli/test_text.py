"""Text for a terminal: nothing in it is obeyed, and it is as wide as it says."""

from __future__ import annotations

import pytest

from chongming_task.cli.render.table import Cell, Column, table
from chongming_task.cli.render.text import cut, one_line, pad, plain, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$q\x1b\\dcs", "dcs"),
        ("\x9b31mC1\x9d52;c;aGk=\x9c", "C1"),
        ("\x1bcreset", "reset"),
        ("\x1b]0;never ended", ""),
        ("back\x08\x08\rspace\x00\x7f", "backspace"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("right\u202eto left\u2066", "rightto left"),
        ("half \ud800", "half "),
        ("重明鸟 e\u0301 🐦", "重明鸟 e\u0301 🐦"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(text, shown):
    """Colours, cursor, titles, links, clipboard, direction marks: as sequences or alone."""
    assert plain(text) == shown


def test_a_cell_is_one_line():
    """Tabs and line ends become one blank."""
    assert one_line("a\n\n  b\tc\x1b[1m ") == "a b c"


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("重明", 4), ("e\u0301", 1), ("a\u200db", 2), ("ＡＢ", 4), ("", 0), ("🐦", 2)]
)
def test_width_is_that_of_a_terminal(text, columns):
    """Wide letters take two columns, combining ones none."""
    assert width(text) == columns


def test_padding_and_cutting_count_columns():
    """A wide letter that does not fit leaves its column blank, not half a letter."""
    assert pad("重", 4) + "|" == "重  |"
    assert pad("7", 3, right=True) == "  7"
    assert cut("重明鸟飞", 6) == "重明…"
    assert width(cut("重明鸟飞", 6)) <= 6
    assert cut("short", 5) == "short"
    assert cut("short", 0) == ""


def test_a_table_is_aligned_whatever_stands_in_it():
    """Every second column begins at the same place, with Chinese and with escapes in the first."""
    rows = [["重明", "x"], ["\x1b[31mred\x1b[0m", "y"], ["plain name", "z"]]
    lines = table([Column("NAME"), Column("B")], rows)
    starts = {width(line[: line.rindex(letter)]) for line, letter in zip(lines, "Bxyz", strict=True)}
    assert len(starts) == 1
    assert not any("\x1b" in line for line in lines)


def test_a_table_gives_way_in_its_last_column():
    """Lines are no wider than the room, and a colour takes none of it."""
    rows = [[Cell("ok", "\x1b[32m"), "a long story " * 9]]
    lines = table([Column("S"), Column("DETAIL")], rows, room=30)
    assert lines[1].startswith("\x1b[32mok\x1b[0m  a long")
    assert width(lines[1].replace("\x1b[32m", "").replace("\x1b[0m", "")) <= 30
    assert lines[1].endswith("…")


def test_numbers_are_aligned_to_the_right_and_long_texts_cut():
    """As the columns say."""
    assert table([Column("N", right=True), Column("T", widest=4)], [["5", "abcdef"], ["50", ""]]) == [
        " N  T",
        " 5  abc…",
        "50",
    ]
