"""Results that stay on a Dask cluster: where the record has a pointer, the workers have the value.

A value that JSON cannot hold is what the attempt's Dask task returns, so it lies in the memory of the worker that made
it. Whoever needs it on the cluster is handed it from worker to worker; who asks for it in the controller's process
fetches it there and then.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chongming_task.core.results import MARK, to_json
from chongming_task.core.text import clean
from chongming_task.errors import ResultInvalid, ResultUnavailable
from chongming_task.runtime.executors.pickling import dump
from chongming_task.runtime.results import CodecResults, InMemory, ResultCodec

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ClusterResults", "OnCluster", "held_values", "is_on_cluster"]

KIND = "dask"
"""What the record of such a result holds under ``MARK``."""


class ClusterResults:
    """Keeps what is no JSON on the cluster. One for each attempt: it holds the value until Dask is given it.

    Args:
        codecs: Who is asked first, and keeps what it accepts as a file: those of the controller's caller.
        key: What Dask calls the attempt's task, and so its value.
        cluster: The scheduler's address.
    """

    def __init__(self, codecs: Sequence[ResultCodec], key: str, cluster: str) -> None:
        self.value: Any = None
        self._codecs = tuple(codecs)
        self._key = key
        self._cluster = cluster

    def keep(self, value: Any, folder: Callable[[], Path]) -> Any:
        """See :class:`~chongming_task.core.results.ResultPolicy`."""
        try:
            return CodecResults(self._codecs).keep(value, folder)
        except ResultInvalid:
            if not _check_foreign(value):  # plain data that is no JSON, such as an infinity, is none anywhere
                raise
        self.value = value
        kind = type(value)
        return {
            MARK: KIND,
            "key": self._key,
            "cluster": self._cluster,
            "type": clean(f"{kind.__module__}.{kind.__qualname__}"),
            **_size_of(value),
        }


def _check_foreign(value: Any) -> bool:
    """Whether there is anything in a value that has no JSON.

    Raises:
        ResultInvalid: For what JSON refuses, or what cannot go to another worker.
    """
    found: list[Any] = []

    def look(part: Any, place: str) -> None:
        try:
            _try_to_send(part)
        except Exception as error:
            raise ResultInvalid(
                f"the result holds a {type(part).__module__}.{type(part).__qualname__} at {place}, which is no JSON, "
                f"and cannot go to another Dask worker: {type(error).__name__}: {error}. Return plain data"
            ) from error
        found.append(part)

    to_json(value, look)
    return bool(found)


def _try_to_send(value: Any) -> None:
    """Raise what sending would raise. The contents of arrays and frames are not copied for it."""
    try:
        pickle.dumps(value, protocol=5, buffer_callback=lambda buffer: None)
    except Exception:  # what is defined in a notebook cell goes by value
        dump(value)


def _size_of(value: Any) -> dict[str, Any]:
    """What a reader of the record likes to know of a value."""
    from dask.sizeof import sizeof

    said: dict[str, Any] = {"bytes": int(sizeof(value))}
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and all(isinstance(each, int) for each in shape):
        said["shape"] = list(shape)
    return said if dtype is None else said | {"dtype": clean(str(dtype))}


class OnCluster(InMemory):
    """What the record says of a value on the cluster; in the process that launched its task, with a hold on it.

    The value stays on the cluster as long as this process remembers the record and its controller is open.
    """

    __slots__ = ("_future",)

    def __init__(self, pointer: Mapping[str, Any], future: Any) -> None:
        super().__init__(pointer)
        self._future = future

    @property
    def future(self) -> Any:
        """Dask's own hold on the value."""
        return self._future

    @property
    def lost(self) -> bool:
        """Whether the value is known to be gone."""
        return self._future.status in ("cancelled", "lost", "error")

    @property
    def value(self) -> Any:
        """The value, fetched from the cluster.

        Raises:
            ResultUnavailable: When it is gone, with its worker, its cluster or the controller.
        """
        from concurrent.futures import CancelledError

        try:
            return self._future.result()
        except ResultUnavailable:
            raise
        except (Exception, CancelledError) as gone:
            raise ResultUnavailable(
                f"the result is a {self['type']} that was kept on the Dask cluster at {self['cluster']}, and is gone: "
                f"its worker has left, or the cluster or the controller was closed ({type(gone).__name__}: {gone})"
            ) from gone


def is_on_cluster(outcome: Any) -> bool:
    """Whether an outcome points to a value on a cluster."""
    return isinstance(outcome, dict) and outcome.get(MARK) == KIND


def held_values(values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """In a worker: makes an outcome that points to one of ``values``, by key, one that has it."""

    def held(outcome: Any) -> Any:
        if not is_on_cluster(outcome) or outcome["key"] not in values:
            return outcome
        here = InMemory(outcome)
        here.value = values[outcome["key"]]
        return here

    return held
