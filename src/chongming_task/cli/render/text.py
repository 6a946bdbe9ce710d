"""Text for a terminal: safe, and as wide as it says.

What comes from records may hold anything, also what a terminal would obey; here it becomes plain text.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["cut", "one_line", "pad", "plain", "width"]

# Escape sequences as a whole: their letters would be left over as litter. Then what is alone: controls but tab and line
# end, half characters, and marks that turn the direction of the text around them.
_SEQUENCES = re.compile(
    "(?:\x1b\\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c|$)"  # OSC: titles, links, the clipboard
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\\\|\x9c|$)"  # DCS and its like
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, the cursor
    "|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_BLANKS = re.compile(r"[\t\n]+ *")
_ELLIPSIS = "…"


def plain(text: str) -> str:
    """The text without anything that a terminal obeys; tabs and line ends stay.

    Example:
        >>> plain("\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07and\\x08 plain")
        'red and plain'
    """
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


def one_line(text: str) -> str:
    """The text in one line, for a cell of a table."""
    if text.isascii() and text.isprintable():
        return text
    return _BLANKS.sub(" ", plain(text)).strip()


def width(text: str) -> int:
    """How many columns a terminal gives to plain text: 2 to Chinese, 0 to what combines with the letter before.

    Example:
        >>> width("重明"), width("e\\u0301")
        (4, 1)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """The text filled up with blanks; a longer one stays as it is.

    Args:
        text: In one line.
        columns: How wide it is to be.
        right: Whether the blanks come first.
    """
    blanks = " " * max(columns - width(text), 0)
    return blanks + text if right else text + blanks


def cut(text: str, columns: int) -> str:
    """The text, with an ellipsis at its end where it is wider.

    Example:
        >>> cut("重明鸟", 5), cut("bird", 4)
        ('重明…', 'bird')
    """
    if width(text) <= columns:
        return text
    room, kept = columns - 1, []
    for letter in text:
        room -= _columns(letter)
        if room < 0:
            break
        kept.append(letter)
    return "".join(kept) + _ELLIPSIS if columns > 0 else ""
