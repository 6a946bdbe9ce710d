"""Processes are killed while they work, command and take over; what was acknowledged is there, once, and true.

CHONGMING_KILLS says how many workers are killed.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from chongming_task import Controller, PostgresTaskStore, SqliteTaskStore
from chongming_task.core.states import TERMINAL
from chongming_task.testing import check_audit
from tests.support.evidence import answered_once, answers_of, nothing_lost_or_doubled
from tests.support.forge import forge

KILLS = int(os.environ.get("CHONGMING_KILLS", "20"))
ENOUGH = 16  # so many that every fate and every kind of process comes up
SCRIPT = Path(__file__).with_name("mortals.py")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60 + 5 * KILLS)]


@pytest.fixture
def mortals():
    """Starts processes of the script."""
    with forge(SCRIPT) as made:
        yield made


def sound(path: Path) -> None:
    """The file itself is whole."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_processes_on_a_file_killed_at_any_moment(mortals, tmp_path):
    """SQLite; and the file stays sound."""
    path = tmp_path / "runs.db"
    kill_and_look(mortals, path, lambda: SqliteTaskStore(path), KILLS, lambda: sound(path))


@pytest.mark.postgres
def test_processes_on_a_server_killed_at_any_moment(mortals, postgres_dsn):
    """PostgreSQL."""
    kill_and_look(mortals, postgres_dsn, lambda: PostgresTaskStore(postgres_dsn), KILLS // 4, lambda: None)


def kill_and_look(mortals, target, opened, kills, check) -> None:
    """After each kill a new process takes over: what was acknowledged is in one state, and that state is true."""
    dice = random.Random(11)
    acknowledged: set[str] = set()
    asked: set[str] = set()
    fates: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    commander = None
    opened().close()
    for number in range(kills):
        commander = commander or mortals.start("command", target, number)
        worker = mortals.start("work", target, number)
        for _ in range(dice.randrange(0, 60)):
            acknowledged.add(worker.stdout.readline().strip())
        time.sleep(dice.random() * 0.03)  # nothing is waited for: a moment like any other
        acknowledged.update(worker.kill())
        if dice.random() < 0.3:
            asked.update(commander.kill())
            commander = None
            killed["commanders"] += 1
        on_orphan = dice.choice(["mark", "requeue"])
        if dice.random() < 0.3:
            heir = mortals.start("take_over", target, on_orphan)
            assert heir.readline() == "begins"
            time.sleep(dice.random() * 0.1)  # as above
            heir.kill()
            killed["heirs"] += 1
        heir = mortals.start("take_over", target, on_orphan)
        assert heir.readline() == "begins"
        report = json.loads(heir.readline())
        fates.update({fate: len(ids) for fate, ids in report.items()})
        every = [task_id for ids in report.values() for task_id in ids]
        assert len(every) == len(set(every))
        assert heir.readline() == "closed"
        heirs = f":{heir.pid}:"
        heir.wait()
        check()
        with closing(opened()) as store:
            living = None if commander is None else f":{commander.pid}:"
            for task_id in acknowledged:
                task = store.get(task_id)
                assert task is not None
                assert task.status in TERMINAL or (living is not None and living in task.owner), task
            for task_id in report["requeued"]:
                assert any(e.trigger == "user:retry" and heirs in e.actor for e in store.transitions(task_id))
            if commander is None:
                nothing_lost_or_doubled(store)
    if commander is not None:
        asked.update(commander.kill())
    with Controller(store=target) as controller:
        controller.reconcile()
    with closing(opened()) as store:
        nothing_lost_or_doubled(store)
        check_audit(store, settled=True)
        answers = answers_of(answered_once(store, asked))
        counts = {str(status): count for status, count in store.counts().items()}
    print(f"\nkilled: {kills} workers, {dict(killed)}; {len(acknowledged)} records acknowledged, {counts}")
    print(f"taken over: {dict(fates)}; {len(asked)} commands acknowledged, answers: {answers}")
    seen = {fate for fate, count in fates.items() if count}
    assert seen & {"lost", "requeued"}
    if kills >= ENOUGH:
        assert {"lost", "cancelled", "requeued"} <= seen
        assert killed["commanders"] > 0
        assert killed["heirs"] > 0
    assert answers["acted"] > 0
