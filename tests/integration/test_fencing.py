"""A process that was taken for dead, and wakes up: nothing it writes counts, and it lets go of everything."""

from __future__ import annotations

import json
import signal
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chongming_task import Controller, SqliteTaskStore
from chongming_task.testing import check_audit
from tests.integration.far_away import PATIENCE_SECONDS, busy, late, quiet
from tests.support.forge import forge

SCRIPT = Path(__file__).with_name("far_away.py")


def out_of_lease(store, owner):
    """Wait until the only thing that says an owner lives is over: time itself is waited for here."""
    until = time.monotonic() + PATIENCE_SECONDS
    while any(lease.owner == owner and lease.lease_until > datetime.now(UTC) for lease in store.owner_leases()):
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def sleeper(tmp_path):
    """A process that runs one task of each kind and was stopped; its tasks' ids."""
    with forge(SCRIPT) as made:
        process = made.start("run", tmp_path / "runs.db", tmp_path)
        ids = json.loads(process.readline())
        process.signal(signal.SIGSTOP)
        yield process, ids
        process.signal(signal.SIGCONT)


def test_who_slept_past_its_lease_lets_go(sleeper, tmp_path):
    """Its workers stop, whether or not they have anything to say; its handles show what is true; one result counts."""
    process, ids = sleeper
    store = SqliteTaskStore(tmp_path / "runs.db")
    with closing(Controller(store, echo=False)) as heir:
        heir.register_all(quiet, busy, late)
        early = heir.reconcile(on_orphan="requeue")
        assert set(early.untouched) == set(ids)  # its lease is not over
        out_of_lease(store, heir.get(ids[0]).owner)
        assert set(heir.reconcile(on_orphan="requeue").requeued) == set(ids)
        for task_id in ids:
            heir.handle(task_id).wait_for("running", timeout=PATIENCE_SECONDS)
        (tmp_path / "return 1").touch()  # the first thing it does is to end one, with a value of its own
        process.signal(signal.SIGCONT)
        process.tell("let go")
        told = json.loads(process.readline())
        assert set(told.pop("desynced")) == set(ids)
        assert told == {
            name: {"status": "running", "owner": heir.owner, "running": False} for name in ("quiet", "busy", "late")
        }
        assert f"quiet ends {process.pid}" in (tmp_path / "log").read_text()
        assert f"busy ends {process.pid}" in (tmp_path / "log").read_text()
        (tmp_path / "return 2").touch()
        ours = heir.result(ids[2], timeout=PATIENCE_SECONDS)
        assert ours not in (None, process.pid)
        before = heir.get(ids[1]).progress
        assert before.message == str(ours)  # this process's
        heir.stop(ids[0])
        heir.stop(ids[1])
        process.tell("ended")
        told = json.loads(process.readline())
        assert {name: told[name]["status"] for name in ("quiet", "busy", "late")} == {
            "quiet": "stopped",
            "busy": "stopped",
            "late": "succeeded",
        }
        assert told["late"]["result"] == ours
        for task_id in ids:
            first, second = heir.attempts(task_id)
            assert (first.status, second.owner) == ("lost", heir.owner)
            assert first.owner != heir.owner
        assert check_audit(store, settled=True) == len(ids)
