"""What some tests need of the machine: a test whose need is absent is skipped with the reason, and fails where
CHONGMING_REQUIRE (comma-separated names, set by CI) says that it must run."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable

from tests.support import chromium, postgres


def _arrow() -> str | None:
    return _modules("adbc_driver_postgresql", "adbc_driver_sqlite", "pandas", "pyarrow")


def _browser() -> str | None:
    if chromium.executable() is None:
        return "no Chromium on PATH (Debian: apt-get install chromium)"
    return _modules("playwright", "jupyterlab")


def _dask() -> str | None:
    return _modules("dask", "distributed")


def _notebook() -> str | None:
    return _modules("ipykernel", "nbclient", "anywidget", "pandas")


def _plot() -> str | None:
    return _modules("matplotlib", "pandas")


def _postgres() -> str | None:
    if postgres.server_programs() is None:
        return "no PostgreSQL server programs found (Debian: apt-get install postgresql)"
    return _modules("psycopg")


def _modules(*names: str) -> str | None:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


# marker -> the reason why its tests cannot run here, or None
MISSING: dict[str, Callable[[], str | None]] = {
    "arrow": _arrow,
    "browser": _browser,
    "dask": _dask,
    "notebook": _notebook,
    "plot": _plot,
    "postgres": _postgres,
}


def required() -> frozenset[str]:
    """The needs that must be met in this run."""
    names = frozenset(name.strip() for name in os.environ.get("CHONGMING_REQUIRE", "").split(",") if name.strip())
    unknown = names - MISSING.keys()
    if unknown:
        raise ValueError(f"CHONGMING_REQUIRE names {sorted(unknown)}; known are {sorted(MISSING)}")
    return names
