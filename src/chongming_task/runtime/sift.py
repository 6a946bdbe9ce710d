"""Tells a store that is down from one that refuses some of what it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Sifted", "sift"]

T = TypeVar("T")
_MISSES = 3  # so many failures in a row: it may be the store, and more tries would only take time
_TRIES = 200


class Sifted(NamedTuple, Generic[T]):
    """What became of a batch. What is in neither list was stored, or was not tried."""

    refused: tuple[tuple[T, Exception], ...] = ()  # failed alone, twice, while the store took others
    doubtful: tuple[T, ...] = ()  # failed alone, while the store took nothing


def sift(items: Sequence[T], store: Callable[[Sequence[T]], None]) -> Sifted[T]:
    """Store what can be stored of a batch that failed as a whole.

    One by one at first, then in parts that grow, so that a hundred take ten tries; a part that fails is gone through
    one by one again. What fails alone is tried once more when the store has taken something else: by then it has proven
    to be up.

    Args:
        items: The batch.
        store: Stores a part of it, or raises and stores nothing.
    """
    refused: list[tuple[T, Exception]] = []
    doubtful: list[T] = []
    at = tries = 0
    size, stored = 1, False
    while at < len(items) and len(doubtful) < _MISSES and tries < _TRIES:
        part = items[at : at + size]
        tries += 1
        if _error_of(store, part) is None:
            at, size, stored = at + len(part), size * 2, True
            refused += _refused(doubtful, store)
            doubtful = []
        else:
            size = 1
            if len(part) == 1:
                doubtful.append(part[0])
                at += 1
    if stored:
        refused += _refused(doubtful, store)
        doubtful = []
    return Sifted(tuple(refused), tuple(doubtful))


def _refused(doubtful: Sequence[T], store: Callable[[Sequence[T]], None]) -> list[tuple[T, Exception]]:
    found = [(item, _error_of(store, [item])) for item in doubtful]
    return [(item, error) for item, error in found if error is not None]


def _error_of(store: Callable[[Sequence[T]], None], part: Sequence[T]) -> Exception | None:
    try:
        store(part)
    except Exception as error:  # whatever the store raises: what it means is found out by the caller
        return error
    return None
