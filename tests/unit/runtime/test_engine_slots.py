"""Who runs next under limits, and slots that come back on every path."""

from __future__ import annotations

import pytest

from chongming_task import BucketPolicy, ConcurrencyPolicy, FailureKind, RetryPolicy, Timeout
from chongming_task.core.failures import Failure


def started(rig):
    """Names in the order of their launches."""
    return [execution.request.name for execution in rig.executor.launched]


def test_priority_first_then_age(make_rig):
    """Higher first; equals in the order of submission."""
    rig = make_rig(max_parallel=1)
    rig.submit(name="first")
    for name, priority in [("a", 0), ("b", 5), ("c", 0), ("d", 5), ("e", -1)]:
        rig.submit(name=name, priority=priority)
    for _ in range(6):
        rig.executor.running[0].finish()
        rig.settle()
    assert started(rig) == ["first", "b", "d", "a", "c", "e"]


def test_a_full_limit_holds_up_nobody_else(make_rig):
    """No head-of-line blocking: what needs another limit, or none, passes."""
    rig = make_rig(concurrency=ConcurrencyPolicy(max_parallel=10, limits={"db": 1, "gpu": 1}))
    db, held = rig.submit(name="db1", tags=["db"]), rig.submit(name="db2", tags=["db"], priority=100)
    both, gpu = rig.submit(name="both", tags=["db", "gpu"], priority=50), rig.submit(name="gpu", tags=["gpu"])
    free = rig.submit(name="free")
    assert [h.status for h in (db, held, both, gpu, free)] == ["starting", "queued", "queued", "starting", "starting"]
    assert rig.controller.waiting_for(held.id) == ["tag db (1/1)"]
    assert sorted(rig.controller.waiting_for(both.id)) == ["tag db (1/1)", "tag gpu (1/1)"]
    rig.worker(db).finish()
    rig.settle()
    assert [h.status for h in (held, both)] == ["starting", "queued"]
    rig.worker(held).finish()
    rig.worker(gpu).finish()
    rig.settle()
    assert both.status == "starting"


def test_a_bucket_runs_one_at_a_time(make_rig):
    """The same tenant in order, other tenants beside it."""
    rig = make_rig(max_parallel_per_bucket=1, bucket_policy=BucketPolicy(16))
    policy = BucketPolicy(16)
    other = next(f"t{i}" for i in range(100) if policy.bucket_for(f"t{i}") != policy.bucket_for("tenant"))
    one, two = rig.submit(bucket_key="tenant"), rig.submit(bucket_key="tenant")
    beside, unkeyed = rig.submit(bucket_key=other), rig.submit()
    assert [h.status for h in (one, two, beside, unkeyed)] == ["starting", "queued", "starting", "starting"]
    assert rig.controller.waiting_for(two.id) == [f"bucket {policy.bucket_for('tenant')} (1/1)"]
    rig.worker(one).finish()
    rig.settle()
    assert two.status == "starting"


def test_many_waiting_behind_one_limit_cost_no_scan(make_rig):
    """Twenty thousand queued behind a full limit; another record still starts at once, and each end starts one."""
    rig = make_rig(concurrency=ConcurrencyPolicy(max_parallel=10, limits={"db": 1}))
    for _ in range(20_000):
        rig.controller.submit(print, tags=["db"])
    rig.settle()
    free = rig.submit()
    assert free.status == "starting"
    for _ in range(50):
        next(w for w in rig.executor.running if w.request.task_id != free.id).finish()
        rig.settle()
    assert len(rig.executor.launched) == 52


def end(rig, handle, worker):
    worker.finish()


def fail(rig, handle, worker):
    worker.fail(ValueError("x"))


def invalid(rig, handle, worker):
    worker.fail(Failure(FailureKind.RESULT_INVALID, "not JSON"))


def vanish(rig, handle, worker):
    worker.fail(Failure(FailureKind.LOST, "gone"))


def obey(rig, handle, worker):
    handle.stop(wait=False)
    worker.checkpoint()


def cancel(rig, handle, worker):
    handle.cancel(wait=False)
    worker.checkpoint()


def give_up(rig, handle, worker):
    handle.stop(timeout=1, wait=False)
    rig.advance(1)


def time_out(rig, handle, worker):
    rig.advance(100)
    worker.checkpoint()


def overrun(rig, handle, worker):
    rig.advance(100)
    rig.advance(100)


def override(rig, handle, worker):
    handle.force_transition("paused", reason="by hand", actor="ana")


def stop_paused(rig, handle, worker):
    handle.pause(wait=False)
    worker.checkpoint()
    rig.settle()
    handle.stop(wait=False)
    worker.checkpoint()


@pytest.mark.parametrize(
    "path", [end, fail, invalid, vanish, obey, cancel, give_up, time_out, overrun, override, stop_paused]
)
def test_slots_come_back_on_every_path(make_rig, path):
    """Whatever ends an attempt, the next record gets all three of its slots."""
    rig = make_rig(
        concurrency=ConcurrencyPolicy(max_parallel=1, limits={"db": 1}, max_parallel_per_bucket=1),
    )
    options = {"tags": ["db"], "bucket_key": "t"}
    handle, worker = rig.running(timeout=Timeout(per_attempt=100, grace=10), **options)
    waiting = rig.submit(**options)
    assert waiting.status == "queued"
    path(rig, handle, worker)
    rig.settle()
    assert waiting.status == "starting", handle.status
    assert set(rig.engine.ready.holding) == {waiting.id}
    rig.worker(waiting).finish()
    rig.settle()
    assert not rig.engine.ready.holding
    assert rig.engine.ready.usage(("tag", "db")) == (0, 1)


def test_a_back_off_holds_no_slot(make_rig):
    """Others run while it waits, and it queues again like everybody."""
    rig = make_rig(max_parallel=1)
    handle, worker = rig.running(retry=RetryPolicy(2, backoff="fixed"))
    waiting = rig.submit()
    worker.fail(ValueError("x"))
    rig.settle()
    assert (handle.status, waiting.status) == ("retry_wait", "starting")
    rig.advance(1)
    assert handle.status == "queued"


def test_a_launch_that_fails_gives_its_slot_back(make_rig):
    """The attempt failed, the engine goes on."""
    rig = make_rig(max_parallel=1)

    def refuse(request, deliver):
        raise OSError("no more workers")

    launch, rig.executor.launch = rig.executor.launch, refuse
    failed = rig.submit(retry=RetryPolicy(2, backoff="none"))
    assert (failed.status, failed.failure.message) == ("failed", "no more workers")
    assert len(failed.attempts) == 2
    rig.executor.launch = launch
    assert rig.submit().status == "starting"


def test_what_is_in_the_executors_way_holds_everything_in_the_queue(rig):
    """Nothing is launched, whoever waits is told why before the limits it waits for, and verbs go on working."""
    rig.executor.obstacle = "the cluster, which is out of reach"
    first, second = rig.submit(), rig.submit()
    assert [first.status, second.status] == ["queued", "queued"]
    assert rig.controller.waiting_for(first.id) == ["the cluster, which is out of reach"]
    assert second.stop(wait=True)
    assert rig.controller.waiting_for(second.id) == []
    rig.executor.clear()
    rig.settle()
    assert (first.status, second.status) == ("starting", "stopped")
    assert rig.controller.waiting_for(first.id) == []


def test_an_executor_hears_the_tags_of_a_record(rig):
    """For those whose workers are not all alike."""
    assert rig.worker(rig.submit(tags=["gpu", "night"])).request.tags == {"gpu", "night"}
