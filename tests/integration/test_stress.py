"""Thousands of tasks, verbs from all sides: it settles, nothing leaks, and the history is a possible one."""

from __future__ import annotations

import random
import threading
import time

import pytest

from chongming_task import ConcurrencyPolicy, FixedBackoff, RetryPolicy, TaskStatusChanged, Timeout
from chongming_task.errors import TaskError
from chongming_task.testing import check_audit

PATIENCE = 40


def quick(ctx, seed):
    """Ends one way or another within a moment."""
    dice = random.Random(seed)
    for _ in ctx.track(range(dice.randint(0, 3))):
        ctx.sleep(dice.choice([0, 0, 0.0005]))
    if dice.random() < 0.2:
        raise ValueError(seed)
    if dice.random() < 0.02:
        return object()
    if dice.random() < 0.02:
        raise SystemExit(seed)
    return seed


def steer(controller, handles, seed, stop):
    """Random verbs on random records, until it is told to end."""
    dice = random.Random(seed)
    acts = [
        lambda handle: handle.pause(timeout=0.01, wait=False),
        lambda handle: handle.pause(timeout=0.01, wait=dice.random() < 0.1),
        lambda handle: handle.resume(),
        lambda handle: handle.resume(),
        lambda handle: handle.stop(timeout=0.05, wait=False),
        lambda handle: handle.stop(graceful=False, wait=False),
        lambda handle: handle.cancel(timeout=0.05, wait=False),
        lambda handle: handle.retry(force=dice.random() < 0.5),
        lambda handle: handle.skip(),
        lambda handle: controller.reset(handle.id, confirm=True, force=True),
        lambda handle: handle.start(),
        lambda handle: handle.force_transition(dice.choice(["queued", "failed", "paused"]), reason="r", actor="a"),
        lambda handle: (handle.snapshot, handle.attempts, handle.can("retry")),
        lambda handle: controller.waiting_for(handle.id),
    ]
    while not stop.is_set():
        try:
            dice.choice(acts)(dice.choice(handles))
        except TaskError:
            continue  # refused, as most are


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_three_thousand_tasks_steered_from_four_threads(make_controller):
    """Afterwards everything ends, no slot is held, no worker is listed, and the threads are few."""
    controller = make_controller(concurrency=ConcurrencyPolicy(max_parallel=8, limits={"db": 2}), keep_terminal=100_000)
    versions, lock = {}, threading.Lock()

    def follow(event):
        with lock:
            versions.setdefault(event.task_id, []).append(event.version)

    most, stop = [0], threading.Event()
    subscription = controller.watch(follow, types=[TaskStatusChanged])
    controller.tap(lambda changed: most.append(max(most.pop(), threading.active_count())))
    policy = RetryPolicy(3, backoff=FixedBackoff(0.001))
    handles = [
        controller.submit(
            quick, seed, retry=policy, tags=["db"] if seed % 3 == 0 else [], timeout=Timeout(per_attempt=5, idle=5)
        )
        for seed in range(3000)
    ]
    threads = [threading.Thread(target=steer, args=(controller, handles, seed, stop)) for seed in range(4)]
    for thread in threads:
        thread.start()
    try:
        for handle in handles[::100]:  # as long as these take, the verbs rain
            handle.wait_for("paused", "pending", timeout=PATIENCE)
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    settle(controller, handles)
    assert {str(handle.status) for handle in handles if not handle.snapshot.is_terminal} == set()
    assert not controller._link.engine.ready.holding
    assert len(controller._link.engine.ready) == 0
    assert len(controller._link.engine.timers) == 0
    assert controller.abandoned() == []
    assert controller.persist_failures == controller.desynced_tasks == []
    assert check_audit(controller._link.store, settled=True) == 3000
    assert most[0] < 60
    subscription.close()
    subscription._thread.join(PATIENCE)
    for seed, handle in enumerate(handles):  # every change was told once, in order, whatever else was going on
        assert versions[handle.id] == list(range(1, handle.snapshot.status_version + 1))
        if handle.status == "succeeded" and not handle.snapshot.overridden:
            assert handle.result() == seed


def settle(controller, handles):
    """Let go of what is held, and wait for everything, given-up workers included."""
    for handle in handles:
        for verb in (handle.start, handle.resume):
            try:
                verb()
            except TaskError:
                continue
    controller.wait_all(PATIENCE)
    gone = threading.Event()
    untap = controller.tap(lambda changed: None if controller.abandoned() else gone.set())
    if controller.abandoned():
        assert gone.wait(PATIENCE)
    untap()
    controller.counts()


@pytest.mark.slow
def test_threads_are_reused_and_bounded(make_controller):
    """Two thousand short tasks need no more threads than may run at once."""
    controller = make_controller(max_parallel=6)
    seen, lock = set(), threading.Lock()

    def note():
        with lock:
            seen.add(threading.get_ident())

    for _ in range(2000):
        controller.submit(note)
    controller.wait_all(PATIENCE)
    workers = [thread for thread in threading.enumerate() if thread.name.startswith("chongming-worker")]
    assert len(seen) <= 6
    assert len(workers) <= 6


def test_all_that_may_run_at_once_do(make_controller):
    """Each needs the others to get on: no worker is forgotten on the way."""
    for _ in range(20):
        controller = make_controller(max_parallel=16)
        barrier = threading.Barrier(16)
        for _ in range(48):
            controller.submit(barrier.wait, 20)
        began = time.monotonic()
        controller.wait_all(PATIENCE)
        assert controller.counts()["succeeded"] == 48
        assert time.monotonic() - began < PATIENCE
        controller.close()
