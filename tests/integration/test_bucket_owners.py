"""Processes that share out the buckets of a deployment, badly: the audit says how, and no bucket is taken by two."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import pytest

from chongming_task import BucketPolicy, Controller
from tests.support.forge import PATIENCE_SECONDS, forge

SCRIPT = Path(__file__).with_name("bucket_holder.py")


def key_of(bucket):
    """A key that falls there."""
    policy = BucketPolicy(8)
    return next(f"tenant-{n}" for n in count() if policy.bucket_for(f"tenant-{n}") == bucket)


@pytest.fixture
def holders(tmp_path):
    """Two processes: one owns the buckets 0 to 4 of eight, the other 3 to 5; the first came first."""
    with forge(SCRIPT) as made:
        one = made.start("hold", tmp_path / "runs.db", 0, 5, "one")
        assert one.readline() == "ready"
        two = made.start("hold", tmp_path / "runs.db", 3, 6, "two")
        assert two.readline() == "ready"
        yield one, two


def asks(process, verb, bucket):
    """What becomes of a submission in that process."""
    process.tell(f"{verb} {key_of(bucket)}")
    return process.readline()


def test_overlapping_owners_in_two_processes(holders, tmp_path):
    """Each bucket is one's alone, also after the other was killed; what is in nobody's is named as stranded."""
    one, two = holders
    with Controller(store=tmp_path / "runs.db") as looker:
        audit = looker.audit_buckets()
        assert audit.owners == {"one": (0, 1, 2, 3, 4), "two": (3, 4, 5)}
        assert (audit.holes, audit.stranded) == ((6, 7), {})
        assert audit.overlaps == {3: ("one", "two"), 4: ("one", "two")}
        assert asks(one, "run", 3) == "succeeded"
        assert asks(two, "run", 5) == "succeeded"
        assert "which one holds now" in asks(two, "run", 3)
        assert "does not own" in asks(two, "run", 6)
        assert asks(one, "keep", 0) == asks(one, "keep", 4) == "pending"
        one.kill()
        until = time.monotonic() + PATIENCE_SECONDS
        while (told := asks(two, "run", 3)) != "succeeded":  # once it has renewed its leases
            assert "which one holds now" in told
            assert time.monotonic() < until
            time.sleep(0.01)
        audit = looker.audit_buckets()
        assert audit.owners == {"two": (3, 4, 5)}
        assert (audit.holes, dict(audit.overlaps)) == ((0, 1, 2, 6, 7), {})
        assert audit.stranded == {0: 1}
        assert looker.bucket_counts() == {0: 1, 4: 1}
    with Controller(store=tmp_path / "runs.db", owned_buckets=[0, 1, 2]) as heir:
        report = heir.reconcile()
        assert [heir.get(task_id).bucket for task_id in report.cancelled] == [0]  # the other one is not its business
        assert heir.audit_buckets().holes == (6, 7)
