"""Text that comes from users, made safe to store and to show: cleaned once, above the stores.

Names, messages, tracebacks, log lines and results pass through here, so that saving an outcome cannot fail because of
its text, and every store gives back the same.
"""

from __future__ import annotations

import re

__all__ = ["MESSAGE_LIMIT", "NAME_LIMIT", "TRACEBACK_LIMIT", "clean"]

NAME_LIMIT = 200  # characters
MESSAGE_LIMIT = 10_000
TRACEBACK_LIMIT = 100_000

# NUL, the C0 and C1 controls but tab and line ends, and lone surrogates: some stores refuse them, terminals obey them.
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def clean(text: str, limit: int | None = None) -> str:
    """``text`` without characters that a store or a terminal chokes on, and no longer than ``limit``.

    Args:
        text: Any string.
        limit: Most characters to keep; the middle of a longer text gives way to a mark that says how much is missing,
            since beginnings and ends carry the news.
    """
    if not text.isascii() or not text.isprintable():
        text = _UNSAFE.sub(_visible, text)
    if limit is None or len(text) <= limit:
        return text
    mark, keep = "", limit
    while (needed := f" … [{len(text) - keep} characters left out] … ") != mark:  # the mark takes room, too
        mark, keep = needed, max(limit - len(needed), 0)
    head = keep - keep // 3
    return text[:head] + mark[:limit] + (text[-(keep // 3) :] if keep >= 3 else "")
