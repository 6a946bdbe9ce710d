"""SQL by name, out of a ``.sql`` file: each block begins with a line ``-- name: what_it_is_called``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["queries"]

_HEAD = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


@cache
def queries(file: str) -> dict[str, str]:
    """The blocks of a ``.sql`` file beside this one.

    Args:
        file: Its name, such as ``"sqlite.sql"``.

    Raises:
        ValueError: When a name occurs twice.
    """
    text = Path(__file__).parent.joinpath(file).read_text(encoding="utf-8")
    _, *parts = _HEAD.split(text)
    found: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in found:
            raise ValueError(f"{file} holds {name!r} twice")
        found[name] = _COMMENT.sub("", body).strip()
    return found
