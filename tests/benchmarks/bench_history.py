"""How long it takes to bring 100 000 tasks from SQLite into a typed frame, beside what pandas does by itself.

Both read the same rows of the same file, give the same columns and dtypes, and take turns; the best of each counts. The
ratio must be at most 0.9 with the standard library's driver and at most 0.4 with ADBC. Peak memory is that of a process
of its own for each way.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import Write
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.history import History
from chongming_task.history.columns import TASKS, Category, Kind, Shape
from chongming_task.history.frames import dtype_of
from chongming_task.stores.open import open_store
from chongming_task.testing.contract_records import AT

TASKS_STORED = 100_000
ROUNDS = 3


def task(number: int) -> TaskSnapshot:
    """One of many that have ended: most of them well, some with progress, tags, a failure, a retry."""
    began = AT + timedelta(milliseconds=number * 3)
    failed = number % 20 == 0
    why = Failure(FailureKind.EXCEPTION, f"bad row {number}", "Traceback …\n" * 20, "builtins.ValueError", True)
    return TaskSnapshot(
        f"019aa000-0000-7000-8000-{number:012d}",
        f"load {number % 50}",
        began,
        spec_name="load",
        pipeline_run_id=f"nightly:{number // 1000}",
        node=f"load[{number % 1000}]",
        tags=frozenset({"io", "nightly"} if number % 2 else ()),
        executor="thread",
        status=TaskStatus.FAILED if failed else TaskStatus.SUCCEEDED,
        status_version=4,
        attempt=1 + number % 3,
        max_attempts=3,
        queued_at=began + timedelta(milliseconds=1),
        started_at=began + timedelta(milliseconds=20),
        ended_at=began + timedelta(milliseconds=20 + number % 977),
        last_heartbeat_at=began + timedelta(milliseconds=21),
        progress=Progress(number % 100, 100, "rows", None, began) if number % 2 else None,
        failure=why if failed else None,
        outcome=None if failed else {"rows": number, "file": f"part-{number}.csv"},
        owner="host:1:2",
    )


def fill(path: Path) -> None:
    """The file."""
    store = open_store(path)
    for start in range(0, TASKS_STORED, 5_000):
        store.commit([Write(task(number), None) for number in range(start, start + 5_000)])
    store.close()


# what pandas does


def by_pandas(path: Path) -> pd.DataFrame:
    """``read_sql``, and the typing that the frame needs, as somebody who knows pandas writes it."""
    fields = ", ".join(TaskSnapshot._fields)
    with closing(sqlite3.connect(path)) as connection:
        raw = pd.read_sql(f"SELECT {fields} FROM tasks ORDER BY seq", connection)
    for field in ("tags", "depends_on"):
        raw[field] = raw[field].map(lambda text: ", ".join(json.loads(text)), na_action="ignore").fillna("")
    for field, names in (("progress", PROGRESS), ("failure", FAILURE)):
        found = raw[field].dropna().map(json.loads)
        parts = pd.DataFrame(found.tolist(), index=found.index, columns=names if field == "progress" else None)
        for name in names:
            values = parts[name] if name in parts.columns else None
            raw[f"{field}.{name}"] = values
    out = {}
    for column in TASKS:
        if column.source:
            out[column.name] = typed(raw[column.source], column.dtype, column.shape)
    frame = pd.DataFrame(out)
    frame["waited"] = frame["started_at"] - frame["queued_at"]
    frame["duration"] = frame["ended_at"] - frame["started_at"]
    return frame[[column.name for column in TASKS]]


PROGRESS = ["done", "total", "unit", "message", "updated_at"]
FAILURE = ["kind", "message", "traceback", "exception_type", "retryable", "exit_code"]


def typed(values: pd.Series, dtype: Kind | Category, shape: Shape) -> pd.Series:
    """The series with the dtype."""
    if dtype is Kind.TIME:
        return pd.to_datetime(values.astype("Int64"), unit="us", utc=True).astype(dtype.value)
    if dtype is Kind.FLAG:
        return values.astype("boolean")
    return values.astype(dtype_of(dtype))


# what the history does


def by_history(path: Path, arrow: bool) -> pd.DataFrame:
    """``History.open(path).tasks()``."""
    with History.open(path) as history:
        if not arrow:
            history._store.scan_arrow = lambda *wanted: None
        return history.tasks()


WAYS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "pandas.read_sql": by_pandas,
    "history, sqlite3": lambda path: by_history(path, arrow=False),
    "history, ADBC": lambda path: by_history(path, arrow=True),
}
LIMITS = {"history, sqlite3": 0.9, "history, ADBC": 0.4}


def measure(path: Path) -> dict[str, float]:
    """Seconds of each way, the best of some rounds in turns."""
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(ROUNDS):
        for name, way in WAYS.items():
            began = time.perf_counter()
            way(path)
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def memory(path: Path, name: str) -> float:
    """The peak of a process that does it once, above what it took before, in MB."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.benchmarks.bench_history import WAYS\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().split('\\n')\n"
        "    return int(next(line for line in lines if line.startswith('VmHWM')).split()[1]) / 1024\n"
        "before = peak()\n"
        f"WAYS[{name!r}](Path(sys.argv[1]))\n"
        "print(peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.timeout(300)
def bench_tasks_to_a_typed_frame(benchmark: Any, tmp_path: Path) -> None:
    """100 000 tasks, side by side."""
    path = tmp_path / "runs.db"
    fill(path)
    reference = by_pandas(path)
    for name in LIMITS:
        pd.testing.assert_frame_equal(WAYS[name](path), reference)
    seconds = benchmark.pedantic(measure, (path,), rounds=1)
    for name, best in seconds.items():
        ratio = best / seconds["pandas.read_sql"]
        print(f"{name:17}: {best:5.2f} s, {ratio:4.2f} x, {memory(path, name):5.0f} MB above an idle process")
        benchmark.extra_info[name] = round(ratio, 3)
    for name, limit in LIMITS.items():
        assert seconds[name] <= limit * seconds["pandas.read_sql"], name


if __name__ == "__main__":
    pytest.main([__file__, "-s", "--benchmark-only"])
