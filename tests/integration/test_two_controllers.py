"""Two controllers in two processes on one store, each busy and each steering the other's records.

CHONGMING_SHARED_SECONDS says for how long; `tests/benchmarks/bench_commands.py` measures a minute of it.
"""

from __future__ import annotations

import os
from contextlib import closing

import pytest

from chongming_task import PostgresTaskStore, SqliteTaskStore
from tests.support.evidence import answers_of
from tests.support.neighbours import figures, tell

SECONDS = float(os.environ.get("CHONGMING_SHARED_SECONDS", "4"))

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS * 2 + 60)]


def prove(target, store, folder):
    """Nothing is lost or runs twice, and commands are heard well under a second even on a busy machine."""
    with closing(store):
        story = tell(str(target), store, folder, SECONDS)
    half, most, *seen = figures(story)
    print(f"\n{story.records} records, {story.attempts} attempts, {len(story.commands)} commands in {SECONDS:g} s")
    print(f"answered: {half:.0f} / {most:.0f} ms (p50 / p95); seen: {seen[0]:.0f} / {seen[1]:.0f} ms")
    answers = answers_of(story.commands)
    print(answers)
    assert story.attempts > SECONDS * 10
    assert len(story.commands) > SECONDS * 5
    assert answers["acted"] > SECONDS
    assert half < 1_000


def test_two_processes_on_a_file(tmp_path):
    """SQLite."""
    path = tmp_path / "runs.db"
    prove(path, SqliteTaskStore(path), tmp_path)


@pytest.mark.postgres
def test_two_processes_on_a_server(postgres_dsn, tmp_path):
    """PostgreSQL."""
    prove(postgres_dsn, PostgresTaskStore(postgres_dsn), tmp_path)
