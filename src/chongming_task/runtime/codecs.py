"""The result codecs that come with the package. None loads a library: a value of it exists only where it is loaded."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chongming_task.errors import ResultInvalid, ResultUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from chongming_task.runtime.results import ResultCodec

__all__ = ["BUILT_IN", "NpyCodec", "ParquetCodec"]

_INSTALL = 'pip install "chongming-task[parquet]"'


class ParquetCodec:
    """DataFrames and Series of pandas as Parquet; needs pyarrow or fastparquet.

    Comes back as it was: index, column names, categories and their order, time zones, nullable and extension types that
    Parquet knows. Not kept are the ``freq`` of an index, and the categories of a frame without rows. Columns of mixed
    Python objects are refused, and so are rows without any column.
    """

    name = "parquet"

    def accepts(self, value: Any) -> bool:
        """Whether it is a DataFrame or a Series; see :class:`~chongming_task.runtime.results.ResultCodec`."""
        pandas = sys.modules.get("pandas")
        # getattr: another thread may be in the middle of loading it
        kinds = tuple(getattr(pandas, kind, ()) for kind in ("DataFrame", "Series"))
        return type(value) in kinds

    def save(self, value: Any, folder: Path) -> dict[str, Any]:
        """Write ``frame.parquet``."""
        series = value.ndim == 1
        frame = value.to_frame("value" if value.name is None else value.name) if series else value
        if len(frame) and not frame.shape[1]:
            raise ResultInvalid("without a column Parquet forgets the rows; return frame.index.to_series()")
        try:
            frame.to_parquet(folder / "frame.parquet")
        except ImportError as missing:
            raise ResultInvalid(
                f'DataFrames are kept as Parquet, which needs pyarrow: {_INSTALL}; or write @task(result="memory"), or '
                "return frame.to_dict('records')"
            ) from missing
        pointer: dict[str, Any] = {"rows": len(value), "columns": None if series else value.shape[1]}
        return pointer | ({"series": True, "named": value.name is not None} if series else {})

    def load(self, pointer: Mapping[str, Any], folder: Path) -> Any:
        """Read ``frame.parquet``."""
        try:
            import pandas

            frame = pandas.read_parquet(folder / "frame.parquet")
        except ImportError as missing:
            raise ResultUnavailable(f"the result is kept as Parquet, which needs pandas and pyarrow: {_INSTALL}") from (
                missing
            )
        if not pointer.get("series"):
            return frame
        series = frame.iloc[:, 0]
        return series if pointer["named"] else series.rename(None)


class NpyCodec:
    """Arrays of numpy as npy. Arrays of Python objects are refused: they could only be pickled."""

    name = "npy"

    def accepts(self, value: Any) -> bool:
        """Whether it is a plain array, perhaps one on disk; a subclass such as a masked one would lose its meaning."""
        numpy = sys.modules.get("numpy")
        return type(value) in tuple(getattr(numpy, kind, ()) for kind in ("ndarray", "memmap"))

    def save(self, value: Any, folder: Path) -> dict[str, Any]:
        """Write ``array.npy``."""
        import numpy

        if value.dtype.hasobject:
            raise ResultInvalid(
                f"an array of Python objects (dtype {value.dtype}) could only be pickled; convert it with "
                "array.astype(...), or return array.tolist()"
            )
        numpy.save(folder / "array.npy", value, allow_pickle=False)
        return {"shape": list(value.shape), "dtype": str(value.dtype)}

    def load(self, pointer: Mapping[str, Any], folder: Path) -> Any:
        """Read ``array.npy``."""
        try:
            import numpy
        except ImportError as missing:
            raise ResultUnavailable("the result is an array: install numpy to read it") from missing
        return numpy.load(folder / "array.npy", allow_pickle=False)


BUILT_IN: tuple[ResultCodec, ...] = (ParquetCodec(), NpyCodec())
