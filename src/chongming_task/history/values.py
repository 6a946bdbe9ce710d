"""The values of one column as they come from a store: Python objects, or an Arrow array. Both give the same arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from chongming_task.extras import require

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
else:
    pd = require("pandas", "A frame of the history", "notebook")
    np = require("numpy", "A frame of the history", "notebook")

__all__ = ["NOTHING", "ArrowValues", "ListValues", "Values"]

NOTHING = -(2**63)
"""Stands for None among whole numbers: numpy's NaT, so times need no second look."""


class Values(Protocol):
    """One column."""

    def __len__(self) -> int: ...

    def wholes(self) -> Any:
        """As int64; None is ``NOTHING``."""
        ...

    def numbers(self) -> Any:
        """As float64; None is NaN."""
        ...

    def texts(self) -> Any:
        """As an array of pandas' ``string``."""
        ...

    def codes(self, words: Mapping[str, int]) -> Any:
        """As the number of each word; -1 for None and for words that are not among them."""
        ...

    def mapped(self, change: Callable[[str], str], missing: str | None = None) -> Values:
        """With each text changed; ``change`` is asked once for each that occurs. ``missing`` stands for None."""
        ...

    def mended(self, mark: str, change: Callable[[str], str]) -> Values:
        """With each text changed that holds ``mark``."""
        ...

    def present(self) -> tuple[Any, list[Any]]:
        """Where the values stand that are not None, and these values."""
        ...


class ListValues:
    """Python objects, one for each row."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def _is_empty(self) -> bool:
        return self._values.count(None) == len(self._values)

    def wholes(self) -> Any:
        """See ``Values``."""
        if self._is_empty():
            return np.full(len(self), NOTHING, dtype=np.int64)
        try:
            return np.array(self._values, dtype=np.int64)
        except TypeError:  # there is a None
            return np.array([NOTHING if value is None else value for value in self._values], dtype=np.int64)

    def numbers(self) -> Any:
        """See ``Values``."""
        return np.array(self._values, dtype=np.float64)  # None becomes NaN

    def texts(self) -> Any:
        """See ``Values``."""
        dtype: Any = pd.StringDtype()
        if dtype.storage != "pyarrow":
            return pd.array(list(self._values), dtype=dtype)
        import pyarrow as pa

        return dtype.__from_arrow__(pa.chunked_array([pa.array(self._values, pa.large_string())]))

    def codes(self, words: Mapping[str, int]) -> Any:
        """See ``Values``."""
        if self._is_empty():
            return np.full(len(self), -1, dtype=np.int8)
        known: dict[Any, int] = {None: -1, **words}
        for value in set(self._values) - known.keys():
            known[value] = -1
        return np.fromiter(map(known.__getitem__, self._values), np.int8, len(self))

    def mapped(self, change: Callable[[str], str], missing: str | None = None) -> ListValues:
        """See ``Values``."""
        known: dict[str | None, str | None] = {None: missing}
        for value in set(self._values):
            if value is not None:
                known[value] = change(value)
        return ListValues(list(map(known.__getitem__, self._values)))

    def mended(self, mark: str, change: Callable[[str], str]) -> ListValues:
        """See ``Values``."""
        if self._is_empty():
            return self
        return ListValues([change(each) if each is not None and mark in each else each for each in self._values])

    def present(self) -> tuple[Any, list[Any]]:
        """See ``Values``."""
        if self._is_empty():
            return np.empty(0, dtype=np.intp), []
        where = [number for number, value in enumerate(self._values) if value is not None]
        return np.array(where, dtype=np.intp), [self._values[number] for number in where]


class ArrowValues:
    """A chunked array of pyarrow."""

    __slots__ = ("_values",)

    def __init__(self, values: Any) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def wholes(self) -> Any:
        """See ``Values``."""
        import pyarrow as pa

        return self._values.cast(pa.int64()).fill_null(NOTHING).to_numpy()

    def numbers(self) -> Any:
        """See ``Values``."""
        import pyarrow as pa

        return self._values.cast(pa.float64()).fill_null(float("nan")).to_numpy()

    def texts(self) -> Any:
        """See ``Values``."""
        import pyarrow as pa

        dtype: Any = pd.StringDtype()
        if dtype.storage != "pyarrow":  # somebody set mode.string_storage
            return ListValues(self._values.to_pylist()).texts()
        return dtype.__from_arrow__(self._values.cast(pa.large_string()))

    def codes(self, words: Mapping[str, int]) -> Any:
        """See ``Values``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pc.index_in(self._values.cast(pa.string()), value_set=pa.array(list(words), pa.string()))
        numbers = np.array([*words.values(), -1], dtype=np.int8)
        return numbers[found.fill_null(-1).to_numpy()]

    def mapped(self, change: Callable[[str], str], missing: str | None = None) -> ArrowValues:
        """See ``Values``."""
        import pyarrow as pa

        encoded = self._values.cast(pa.large_string()).combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks() if encoded.num_chunks != 1 else encoded.chunk(0)
        words = pa.array([change(word) for word in encoded.dictionary.to_pylist()], pa.large_string())
        found = words.take(encoded.indices)
        return ArrowValues(pa.chunked_array([found if missing is None else found.fill_null(missing)]))

    def mended(self, mark: str, change: Callable[[str], str]) -> Values:
        """See ``Values``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = self._values.cast(pa.large_string())
        if not pc.any(pc.match_substring(texts, mark)).as_py():
            return ArrowValues(texts)
        return ListValues(texts.to_pylist()).mended(mark, change)

    def present(self) -> tuple[Any, list[Any]]:
        """See ``Values``."""
        where = np.flatnonzero(self._values.is_valid().to_numpy(zero_copy_only=False))
        return where, self._values.drop_null().to_pylist()


def json_parts(values: Values, names: Sequence[str]) -> tuple[Any, dict[str, ListValues]]:
    """Where there is JSON, and of each part the values there.

    Args:
        values: JSON objects with these members, or lists of as many items; many are None.
        names: The parts.
    """
    where, texts = values.present()
    found = json.loads(f"[{','.join(texts)}]")  # one call: half the time
    if found and isinstance(found[0], dict):
        return where, {name: ListValues([each[name] for each in found]) for name in names}
    columns = list(zip(*found, strict=True)) if found else [()] * len(names)
    return where, {name: ListValues(column) for name, column in zip(names, columns, strict=True)}
