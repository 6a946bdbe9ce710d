"""Listeners under real load: bad ones change nothing for tasks, and good ones hear everything."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from chongming_task import Controller, Hooks, Pipeline, TaskHeartbeat, TaskStatusChanged, task

PATIENCE = 20
TASKS = 300


def test_bad_listeners_change_nothing(caplog):
    """One blocks, one raises, one is slow, a stream is never read, hooks block: tasks succeed, good ones hear all."""
    release, heard = threading.Event(), []
    slow = threading.Event()

    def raise_always(event):
        raise ValueError("mine")

    def block(subject):
        release.wait(60)

    with Controller(max_parallel=8, hooks=Hooks(on_start=block, on_success=block)) as controller:
        caplog.set_level("CRITICAL", logger="chongming_task.events")  # a thousand tracebacks are told elsewhere
        stuck = controller.watch(block)
        controller.watch(raise_always)
        late = controller.watch(lambda event: slow.wait(0.001))
        good = controller.watch(heard.append, types=[TaskStatusChanged])
        unread = controller.stream()
        began = time.monotonic()
        assert [handle.result(PATIENCE) for handle in controller.map(abs, range(TASKS))] == list(range(TASKS))
        controller.wait_all(PATIENCE)
        assert time.monotonic() - began < PATIENCE
        assert unread.waiting >= TASKS * 6 - 10
        assert [stuck.closed, late.closed, unread.closed] == [False] * 3
        controller.close(timeout=0.1)
        release.set()
    good._thread.join(PATIENCE)
    assert len(heard) == TASKS * 4
    by_task: dict[str, list[int]] = {}
    for event in heard:
        by_task.setdefault(event.task_id, []).append(event.version)
    assert list(by_task.values()) == [[1, 2, 3, 4]] * TASKS


def test_a_stream_follows_a_run_to_its_end():
    """Events of its nodes and of itself; the last one says how it ended."""
    pipeline = Pipeline("fan")
    pipeline.add(sum, pipeline.map(abs, range(-20, 0), name="each"), name="total")

    async def main():
        async with Controller() as controller:
            pipeline.submit(controller)  # another one, of which nothing is heard
            stream = controller.stream(types=[TaskStatusChanged])
            run = pipeline.submit(controller)
            mine = controller.stream(pipeline_run_id=run)
            assert await run == "succeeded"
            stream.close()
            mine.close()
            return run, [event async for event in stream], [event async for event in mine]

    run, everything, mine = asyncio.run(main())
    assert {event.pipeline_run_id for event in mine} == {run.id}
    assert (mine[-1].task_id, str(mine[-1].to_status)) == (run.id, "succeeded")
    ends = [event for event in everything if event.pipeline_run_id == run.id and event.to_status == "succeeded"]
    assert len(ends) == 22


@pytest.mark.parametrize("executor", ["thread", "process"])
def test_heartbeats_of_real_workers(executor, monkeypatch):
    """Of threads and of processes, which are seen from here."""
    monkeypatch.setattr("chongming_task.runtime.pulse.PULSE_SECONDS", 0.05)
    beats, three = [], threading.Event()

    def say_nothing(ctx):
        while True:
            ctx.sleep(0.01)

    def note(event):
        beats.append(event)
        if len(beats) == 3:
            three.set()

    with Controller(executor=executor) as controller:
        controller.watch(note, types=[TaskHeartbeat])
        handle = controller.submit(say_nothing)
        assert three.wait(PATIENCE)
        handle.stop()
        assert handle.snapshot.last_heartbeat_at >= beats[1].at
    assert [event.at for event in beats] == sorted(event.at for event in beats)


def test_hooks_of_a_restartable_task_go_where_it_runs(tmp_path):
    """Another controller that has it registered runs it again, and calls its hooks there."""
    told = []

    @task(restartable=True, hooks=Hooks(on_success=lambda snapshot: told.append(snapshot.owner)))
    def sometimes(number: int) -> int:
        if not told and (tmp_path / "fail").exists():
            raise ValueError("not now")
        return number

    store = tmp_path / "runs.db"
    (tmp_path / "fail").touch()
    with Controller(store=store, owner="one") as one:
        handle = one.submit(sometimes, 1)
        assert handle.wait(PATIENCE) == "failed"
    (tmp_path / "fail").unlink()
    with Controller(store=store, owner="two") as two:
        two.register(sometimes)
        assert two.retry(handle.id, force=True)
        assert two.result(handle.id, PATIENCE) == 1
    assert told == ["two"]
