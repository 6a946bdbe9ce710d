"""Two doors beside strict JSON: values kept as files, and values kept in this process only.

What the record holds is JSON all the same. A dict with the key ``core.results.MARK`` stands for the value:

    {MARK: "file", "codec": "parquet", "folder": ..., "base": ..., "type": ..., "pointer": {...}}    a file
    {MARK: "memory", "repr": ..., "type": ...}      an object that one process has
    {MARK: "dask", "key": ..., "cluster": ..., "type": ..., "bytes": ...}      an object that a Dask cluster has
    {MARK: "json", "value": ...}                    JSON with pointers to files somewhere in it

Nothing is ever unpickled: a codec writes and reads a format that holds data only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

from chongming_task.core.results import MARK, to_json
from chongming_task.core.text import clean
from chongming_task.errors import ConfigurationError, ResultInvalid, ResultUnavailable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CodecResults", "MemoryResults", "ResultCodec", "checked_codecs", "is_plain", "load_result"]

_REPR_LIMIT = 1_000  # characters of an object's repr in the record


@runtime_checkable
class ResultCodec(Protocol):
    """Keeps values of some types as files. Give yours to ``Controller(result_codecs=[...])``.

    It crosses to the worker, so it must be possible to pickle it for tasks in processes of their own. It is asked only
    about what JSON cannot hold. Write data, never pickles: whoever can change the file could run code in its reader.

    Example:
        >>> class BytesCodec:
        ...     name = "bytes"
        ...     def accepts(self, value):
        ...         return isinstance(value, bytes)
        ...     def save(self, value, folder):
        ...         (folder / "value.bin").write_bytes(value)
        ...         return {"bytes": len(value)}
        ...     def load(self, pointer, folder):
        ...         return (folder / "value.bin").read_bytes()
    """

    @property
    def name(self) -> str:
        """What pointers call it; whoever loads them must have a codec of that name."""
        ...

    def accepts(self, value: Any) -> bool:
        """Whether it keeps this value. Cheap, never raises and loads no library.

        Args:
            value: What the task returned, or a part of it.
        """
        ...

    def save(self, value: Any, folder: Path) -> dict[str, Any]:
        """Write the value into an empty folder of its own, in the worker.

        Args:
            value: What to write.
            folder: Where.

        Returns:
            A few words of JSON for the record: what :meth:`load` needs, and what a reader likes to know.

        Raises:
            OSError: When it cannot be written; the attempt fails and may be retried.
            Exception: When the value cannot be kept; the attempt ends with RESULT_INVALID.
        """
        ...

    def load(self, pointer: Mapping[str, Any], folder: Path) -> Any:
        """The value again, from what :meth:`save` returned and its folder.

        Args:
            pointer: What :meth:`save` returned.
            folder: Where the value was written.
        """
        ...


class InMemory(dict[str, Any]):
    """What the record says of an object that only this process has; in this process, the object is with it.

    Written to a store or sent to another process it is the plain dict. So the object lives exactly as long as the
    record does in this process's memory, and nobody needs to clean up after it.
    """

    __slots__ = ("value",)

    value: Any

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # the object is the caller's; copying it is not ours to do

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


class MemoryResults:
    """``@task(result="memory")``: the object stays as it is, in this process; the record holds its repr."""

    def keep(self, value: Any, folder: Callable[[], Path]) -> InMemory:
        """See :class:`~chongming_task.core.results.ResultPolicy`."""
        said = InMemory({MARK: "memory", "repr": _repr_of(value), "type": _type_of(value)})
        said.value = value
        return said


class CodecResults(NamedTuple):
    """JSON stays JSON; what it cannot hold, wherever it stands in the value, goes to the first codec that accepts it.

    Scalars of numpy become the plain numbers they are.
    """

    codecs: tuple[ResultCodec, ...] = ()

    def keep(self, value: Any, folder: Callable[[], Path]) -> Any:
        """See :class:`~chongming_task.core.results.ResultPolicy`."""
        try:
            return to_json(value)
        except ResultInvalid:  # perhaps a codec knows better; most results never come here
            return _Saver(self.codecs, folder).keep(value)


class _Saver:
    """Keeps one return value that is more than JSON."""

    def __init__(self, codecs: Sequence[ResultCodec], folder: Callable[[], Path]) -> None:
        self._codecs = codecs
        self._folder = folder
        self._saved = 0

    def keep(self, value: Any) -> Any:
        outcome = to_json(value, self._stand_in)
        if not self._saved or (isinstance(outcome, dict) and MARK in outcome):
            return outcome
        return {MARK: "json", "value": outcome}

    def _stand_in(self, value: Any, place: str) -> Any:
        """The JSON that stands for a value which is none."""
        number = _plain_number(value)
        if number is not None:
            return to_json(number)
        for codec in self._codecs:
            if codec.accepts(value):
                return self._save(codec, value, place)
        names = ", ".join(codec.name for codec in self._codecs)
        raise ResultInvalid(
            f"the result holds a {_type_of(value)} at {place}: results are JSON (dict, list, text, number, boolean, "
            f"None) and what a result codec keeps as a file ({names}). Return plain values; or give "
            'Controller(result_codecs=[...]) a codec for it; or write @task(result="memory") to keep the object in '
            "this process only; or save it under ctx.artifacts and return the name"
        )

    def _save(self, codec: ResultCodec, value: Any, place: str) -> dict[str, Any]:
        folder = self._folder()
        try:
            pointer = to_json(codec.save(value, folder))
        except OSError:  # the disk's fault, not the value's: an exception like any other, and another attempt may do
            raise
        except Exception as error:
            why = error if isinstance(error, ResultInvalid) else f"{type(error).__name__}: {error}"
            raise ResultInvalid(
                f"the result holds a {_type_of(value)} at {place}, and the codec {codec.name!r} cannot keep it: {why}"
            ) from error
        self._saved += 1
        base = folder.parents[2]  # <base>/<task id>/<attempt>/<folder>
        return {
            MARK: "file",
            "codec": codec.name,
            "folder": folder.relative_to(base).as_posix(),
            "base": os.path.abspath(base),  # noqa: PTH100 - a link stays as the user wrote it, resolve() would follow
            "type": _type_of(value),
            "pointer": pointer,
        }


def is_plain(outcome: Any) -> bool:
    """Whether an outcome is the value itself: nothing has to be read for it."""
    return not isinstance(outcome, dict) or MARK not in outcome


def load_result(outcome: Any, codecs: Sequence[ResultCodec], base: str | None = None) -> Any:
    """The value that an outcome stands for.

    Args:
        outcome: What the record holds.
        codecs: Who reads files.
        base: The folder of all artifacts here; default, and next: where the writer had it.

    Raises:
        ResultUnavailable: When it cannot be had in this process.
    """
    if is_plain(outcome):
        return outcome
    return _Loader(codecs, base).load(outcome)


class _Loader:
    """Follows the pointers of one outcome."""

    def __init__(self, codecs: Sequence[ResultCodec], base: str | None) -> None:
        self._codecs = {codec.name: codec for codec in reversed(codecs)}  # of two with a name, the first saved it
        self._base = base

    def load(self, outcome: Any) -> Any:
        if isinstance(outcome, list):
            return [self.load(each) for each in outcome]
        if not isinstance(outcome, dict):
            return outcome
        if isinstance(outcome, InMemory):
            return outcome.value
        match outcome.get(MARK):
            case None:
                return {key: self.load(each) for key, each in outcome.items()}
            case "json":
                return self.load(outcome["value"])
            case "file":
                return self._from_file(outcome)
            case "memory":
                raise ResultUnavailable(
                    f"the result is a {outcome['type']} that was kept in the memory of the process that ran the task "
                    f'(result="memory"), and that is not this one, or it has forgotten the record; the record says: '
                    f"{outcome['repr']}"
                )
            case "dask":
                raise ResultUnavailable(
                    f"the result is a {outcome['type']} that was kept on the Dask cluster at {outcome['cluster']} for "
                    "as long as the controller that ran the task was open and remembered it, and that is not this one"
                )
            case kind:
                raise ResultUnavailable(f"the result is kept as {kind!r}, which this version does not know; update it")

    def _from_file(self, outcome: Mapping[str, Any]) -> Any:
        codec = self._codecs.get(outcome["codec"])
        if codec is None:
            raise ResultUnavailable(
                f"the result is a {outcome['type']} kept by the codec {outcome['codec']!r}, which this controller does "
                "not have; give it one: Controller(result_codecs=[...])"
            )
        folder = self._find(outcome)
        try:
            return codec.load(outcome["pointer"], folder)
        except FileNotFoundError as missing:
            raise ResultUnavailable(f"the result is a {outcome['type']} whose file is gone: {missing}") from missing

    def _find(self, outcome: Mapping[str, Any]) -> Path:
        """The folder of a kept value: below this controller's base, else where it was written."""
        from pathlib import Path  # as in context.artifacts: only who keeps files pays for it

        from chongming_task.runtime.artifacts import checked_parts, contains

        parts = checked_parts(outcome["folder"])
        bases = [Path(base) for base in (self._base, outcome["base"]) if base is not None]
        for base in bases:
            folder = base.joinpath(*parts)
            if folder.is_dir() and contains(base, folder):
                return folder
        looked = " and ".join(str(base.joinpath(*parts)) for base in dict.fromkeys(bases))
        raise ResultUnavailable(
            f"the result is a {outcome['type']} whose file is gone, or on another machine: looked for {looked}"
        )


def checked_codecs(codecs: Sequence[Any]) -> tuple[ResultCodec, ...]:
    """Codecs as a tuple.

    Raises:
        ConfigurationError: For what lacks one of the protocol's methods.
    """
    for codec in codecs:
        if isinstance(codec, type) or not isinstance(codec, ResultCodec):
            raise ConfigurationError(
                f"result_codecs takes objects with name, accepts, save and load (see ResultCodec), got {codec!r}"
            )
    return tuple(codecs)


def _plain_number(value: Any) -> bool | int | float | None:
    """A scalar of numpy as the plain number it is; None for anything else."""
    numpy = sys.modules.get("numpy")  # a value of it cannot exist unless it is loaded
    if numpy is None or not isinstance(value, numpy.generic):
        return None
    kinds: dict[str, Callable[[Any], bool | int | float]] = {"b": bool, "i": int, "u": int, "f": float}
    plain = kinds.get(value.dtype.kind)  # not its class: numpy counts a timedelta among the integers
    return None if plain is None else plain(value)


def _type_of(value: Any) -> str:
    kind = type(value)
    return clean(f"{kind.__module__}.{kind.__qualname__}")


def _repr_of(value: Any) -> str:
    try:
        return clean(repr(value), _REPR_LIMIT)
    except Exception as broken:  # a broken __repr__ must not lose the value
        return f"<{_type_of(value)}, and its repr raised {type(broken).__name__}>"
