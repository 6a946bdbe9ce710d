"""A small service as its author would write it: tenants, buckets, limits, a report, and an orderly end.

What a store on disk adds to it (reconcile after a restart) is tested with the stores.
"""

from __future__ import annotations

import threading

import pytest

import chongming_task
from chongming_task import (
    BucketPolicy,
    ConcurrencyPolicy,
    Controller,
    ExponentialBackoff,
    MemoryTaskStore,
    RetryPolicy,
    TaskCancelled,
    TaskContext,
    Timeout,
    run_task,
    task,
)
from chongming_task.testing import check_audit

PATIENCE = 20
NUM_BUCKETS = 32
CATALOGUE = {"tulip": ["p1", "p2", "p3"], "rose": ["p1"], "fern": ["p1", "p2"], "moss": []}


class Warehouse:
    """Where the tasks write: idempotent, and it notes who wrote at the same time."""

    def __init__(self):
        self.rows, self.busy, self.clashes = set(), set(), []
        self.lock, self.at_once, self.most = threading.Lock(), 0, 0
        self.flaky = {"fern"}

    def write(self, plant, page):
        with self.lock:
            if plant in self.busy:
                self.clashes.append(plant)
            self.busy.add(plant)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        with self.lock:
            self.rows.add((plant, page))
            self.busy.discard(plant)
            self.at_once -= 1


@pytest.fixture
def warehouse():
    return Warehouse()


@pytest.fixture
def service(warehouse):
    """The tasks and their controller."""

    @task(tags={"sync", "db"}, retry=RetryPolicy(max_attempts=3, backoff=ExponentialBackoff(base=0.001)))
    def sync_plant(ctx: TaskContext, plant: str, *, batches: int = 24) -> dict[str, object]:
        """Copies the pages of one plant."""
        pages = CATALOGUE[plant]
        for index, page in enumerate(pages, start=1):
            ctx.checkpoint()
            ctx.progress(index, total=len(pages), message=plant)
            warehouse.write(plant, page)
            if plant in warehouse.flaky:
                warehouse.flaky.discard(plant)
                raise ConnectionError("try again")
        return {"plant": plant, "pages": len(pages), "batches": batches}

    @task
    def report(ctx: TaskContext) -> dict[str, object]:
        """A pointer, not the data."""
        return {"rows": len(warehouse.rows), "path": "s3://garden/report.parquet"}

    store = MemoryTaskStore()
    controller = Controller(
        store=store,
        bucket_policy=BucketPolicy(num_buckets=NUM_BUCKETS),
        owned_buckets=range(NUM_BUCKETS),
        concurrency=ConcurrencyPolicy(max_parallel=8, limits={"db": 2, "gpu": 1}, priority=0),
        max_parallel_per_bucket=1,
    )
    controller.register_all(sync_plant, report)
    yield controller
    controller.close()
    check_audit(store, settled=True)


def test_a_day_in_the_garden(service, warehouse):
    """Submitted by name, limited by tag and bucket, retried, reported, and closed."""
    handles = [
        service.submit("sync_plant", plant, tags=["nightly"], bucket_key=plant) for plant in CATALOGUE for _ in range(5)
    ]
    service.wait_all(timeout=PATIENCE)
    urgent = service.submit("report", priority=10)
    service.wait_all(timeout=PATIENCE)
    assert urgent.result() == {"rows": 6, "path": "s3://garden/report.parquet"}
    assert urgent.snapshot.priority == 10
    assert {str(handle.status) for handle in handles} == {"succeeded"}
    assert handles[0].result() == {"plant": "tulip", "pages": 3, "batches": 24}
    assert handles[0].snapshot.tags == {"sync", "db", "nightly"}
    assert (handles[0].progress.fraction, handles[0].progress.message) == (1.0, "tulip")
    assert sum(len(handle.attempts) == 2 for handle in handles) == 1  # the flaky one
    assert warehouse.clashes == []  # one plant at a time
    assert warehouse.most <= 2  # two connections at a time
    assert service.persist_failures == service.desynced_tasks == []
    assert service.get(handles[0].id).owner.split(":")[-1].isdigit()
    service.close(timeout=5, close_store=True)


def test_options_of_one_submission(service):
    """Limits in time, keyword arguments, another name."""
    handle = service.submit("sync_plant", "moss", batches=3, timeout=Timeout(idle=30), name="moss tonight")
    assert handle.result(PATIENCE) == {"plant": "moss", "pages": 0, "batches": 3}
    assert handle.name == "moss tonight"


def test_a_plant_of_another_node_is_refused():
    """A submission outside the owned buckets would wait for ever."""
    policy = BucketPolicy(num_buckets=NUM_BUCKETS)
    half = range(NUM_BUCKETS // 2)
    foreign = next(str(n) for n in range(1000) if policy.bucket_for(str(n)) not in half)
    with Controller(bucket_policy=policy, owned_buckets=half) as controller:
        with pytest.raises(ValueError, match="does not own"):
            controller.submit(print, bucket_key=foreign)
        assert controller.counts() == dict.fromkeys(chongming_task.TaskStatus, 0)


def test_the_stop_passes_through_a_task_that_lets_it():
    """``except TaskCancelled: raise``, and errors of its own handled beside it."""
    handled, begun = [], threading.Event()

    @task
    def careful(ctx: TaskContext) -> None:
        try:
            begun.set()
            handled.append("work")
            while True:
                ctx.sleep(60)
        except TaskCancelled:
            raise
        except Exception as error:
            handled.append(error)
        finally:
            handled.append("clean-up")

    with Controller() as controller:
        handle = controller.submit(careful)
        assert begun.wait(PATIENCE)
        assert handle.stop(timeout=PATIENCE) is True
    assert handled == ["work", "clean-up"]
    assert handle.status == "stopped"


def test_a_result_that_is_no_json_says_so_loudly():
    """A path is not text; the pointer to it is."""
    from pathlib import PurePosixPath

    assert run_task(lambda: PurePosixPath("x")).failure.kind == "result_invalid"
    assert run_task(lambda: str(PurePosixPath("x"))).result() == "x"


def test_progress_alone_is_no_sign_of_life():
    """A task that only reports is taken for stuck by an idle limit, and ends at its next checkpoint."""

    def busy(ctx):
        while ctx._token.stop_reason is None:  # works on, deaf, until its time is up
            ctx.progress(1, total=2)
        ctx.checkpoint()

    handle = run_task(busy, timeout=Timeout(idle=0.05, grace=PATIENCE))
    assert (handle.status, handle.failure.kind) == ("failed", "timeout_idle")


def test_either_all_limits_or_the_short_form():
    """Two settings of one thing: who would win?"""
    with pytest.raises(ValueError, match="not both"):
        Controller(concurrency=ConcurrencyPolicy(), max_parallel=3)
