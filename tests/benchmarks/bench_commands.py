"""How soon a verb from another process is answered, and its answer seen, while both are busy.

Two controllers in two processes on one store submit, run, and steer each other's records for a minute. The aims: 95 of
100 answers within 300 ms on an SQLite file, within 100 ms on PostgreSQL.

make bench ARGS="-k commands -s"      prints the figures; CHONGMING_SHARED_SECONDS says for how long
"""

from __future__ import annotations

import faulthandler
import os
import warnings
from contextlib import closing

import pytest

from chongming_task import PostgresTaskStore, SqliteTaskStore, StoreWarning
from chongming_task.core.ports import TaskStore
from tests.support.evidence import answers_of
from tests.support.neighbours import figures, tell

SECONDS = float(os.environ.get("CHONGMING_SHARED_SECONDS", "60"))
warnings.simplefilter("ignore", StoreWarning)

pytestmark = pytest.mark.timeout(SECONDS * 2 + 120)


def measure(benchmark, target, store: TaskStore, folder, aim: float) -> None:
    """Tell the story once, and print its figures."""
    faulthandler.cancel_dump_traceback_later()  # which takes what lasts as long as this for stuck
    with closing(store):
        story = benchmark.pedantic(tell, (str(target), store, folder, SECONDS))
    half, most, half_seen, most_seen = figures(story)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"\n{SECONDS:g} s: {story.records} records, {story.attempts} attempts; load {load} on {os.cpu_count()} cores")
    print(f"{len(story.commands)} commands: {answers_of(story.commands)}")
    print(f"answered within {half:.0f} ms (p50), {most:.0f} ms (p95; the aim: {aim:g} ms)")
    print(f"seen by its sender within {half_seen:.0f} ms (p50), {most_seen:.0f} ms (p95)")


def bench_commands_sqlite(benchmark, tmp_path):
    """On a file."""
    path = tmp_path / "runs.db"
    measure(benchmark, path, SqliteTaskStore(path), tmp_path, 300)


@pytest.mark.postgres
def bench_commands_postgres(benchmark, postgres_dsn, tmp_path):
    """On a server on this machine."""
    measure(benchmark, postgres_dsn, PostgresTaskStore(postgres_dsn), tmp_path, 100)
