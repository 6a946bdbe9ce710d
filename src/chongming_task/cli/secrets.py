"""Keeps passwords out of what is printed: help, errors, tracebacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = ["Hidden", "has_password"]

_DSN = re.compile(r"\b(postgres(?:ql)?)://[^\s'\"]*", re.IGNORECASE)
_USER = re.compile(r"://[^\s'\"@]*@")
_PAIR = re.compile(r"\b((?:ssl)?password)\s*=\s*('[^']*'|[^\s'\"&]+)", re.IGNORECASE)
_SHORTEST = 3  # characters: to blot out every "a" would leave no message


def _passwords(where: str) -> list[str]:
    """The passwords that a DSN holds, as they are written and as they are meant."""
    found = [pair[1].strip("'") for pair in _PAIR.findall(where)]
    try:
        parts = urlsplit(where)
        found += [parts.password or "", *parse_qs(parts.query).get("password", [])]
    except ValueError:  # no URL that could be understood: it is hidden as a whole
        return found
    return [text for word in found for text in (word, unquote(word)) if text]


def has_password(where: str) -> bool:
    """Whether a DSN holds a password."""
    return bool(_passwords(where))


class Hidden:
    """Blots secrets out of text.

    Args:
        words: What was written on the command line and in the environment, as far as it may name a database.

    Example:
        >>> hidden = Hidden(["postgresql://me:hunter2@db/work"])
        >>> hidden("invalid choice: 'postgresql://me:hunter2@db/work'; hunter2")
        "invalid choice: 'postgresql://***'; ***"
    """

    def __init__(self, words: Iterable[str]) -> None:
        wholes = [word for word in words if _DSN.search(word) or _PAIR.search(word)]
        secrets = [password for word in wholes for password in _passwords(word)]
        self._secrets = sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True)
        self._wholes = sorted({form for w in wholes for form in (w, repr(w)[1:-1])}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without them."""
        for whole in self._wholes:
            text = text.replace(whole, "postgresql://***")
        text = _PAIR.sub(r"\1=***", _USER.sub("://***@", _DSN.sub(r"\1://***", text)))
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text
