"""Coroutines wait for tasks and steer them: no thread for a wait, and no harm when they are cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from chongming_task import (
    Controller,
    ControllerClosed,
    InvalidTransition,
    Pipeline,
    TaskStatus,
    UnknownTask,
    task,
)
from chongming_task.api.aio import AsyncController
from chongming_task.api.steering import Steering

PATIENCE = 20


@task
def patient(ctx, started: threading.Event) -> str:
    """Run until it is stopped."""
    started.set()
    while True:
        ctx.sleep(1)


@task(result="memory")
def gated(gate: threading.Event, value: int) -> int:
    """Return the value once the gate is open."""
    assert gate.wait(PATIENCE)
    return value


def threads() -> int:
    """How many threads the event loop has borrowed."""
    return sum(thread.name.startswith("asyncio_") for thread in threading.enumerate())


def test_a_handle_is_awaited_for_its_value():
    """Several at once, in the loop that runs, and an error is the task's own."""

    def wrong():
        raise ValueError("mine")

    async def main():
        async with Controller() as controller:
            values = await asyncio.gather(*controller.map(abs, [-1, -2, -3]))
            with pytest.raises(ValueError, match="mine"):
                await controller.submit(wrong)
            return values

    assert asyncio.run(main()) == [1, 2, 3]


def test_a_thousand_waits_take_no_thread():
    """The engine wakes the loop; each waiter hears of its own record."""
    gate = threading.Event()

    async def main(controller):
        handles = [controller.submit(gated, gate, number) for number in range(1_000)]
        waits = [asyncio.ensure_future(controller.aio.wait(handle)) for handle in handles]
        await asyncio.sleep(0)
        assert threads() == 0
        gate.set()
        return await asyncio.gather(*waits)

    with Controller(max_parallel=8) as controller:
        assert set(asyncio.run(main(controller))) == {TaskStatus.SUCCEEDED}


def test_cancelling_who_awaits_leaves_the_task_running():
    """Also a timeout of asyncio's; and nothing is kept of the wait."""
    gate = threading.Event()

    async def main(controller):
        handle = controller.submit(gated, gate, 7)
        waiting = asyncio.ensure_future(controller.aio.result(handle))
        await controller.aio.wait_for(handle, "running", timeout=PATIENCE)
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(handle, 0.01)
        assert handle.status == "running"
        assert handle._live.waiters == []
        gate.set()
        return await handle

    with Controller() as controller:
        assert asyncio.run(main(controller)) == 7


def test_waits_have_their_own_patience():
    """TimeoutError says what it is, as the blocking ones do."""
    gate = threading.Event()

    async def main(controller):
        handle = controller.submit(gated, gate, 7)
        await controller.aio.wait_for(handle, "running", timeout=PATIENCE)
        for wait in (
            controller.aio.wait(handle, timeout=0.01),
            controller.aio.result(handle, timeout=0.01),
            controller.aio.wait_all(timeout=0.01),
        ):
            with pytest.raises(TimeoutError, match=r"has not ended within 0\.01 s: it is running"):
                await wait
        with pytest.raises(TimeoutError, match=r"is not paused within 0\.01 s: it is running"):
            await controller.aio.wait_for(handle.id, "paused", timeout=0.01)
        gate.set()
        await controller.aio.wait_all(timeout=PATIENCE)
        assert await controller.aio.wait(handle.id) == "succeeded"
        assert await controller.aio.result(handle.id) == 7

    with Controller() as controller:
        asyncio.run(main(controller))


def test_every_verb():
    """With what the blocking one returns; the loop runs meanwhile."""
    started = threading.Event()

    async def main(controller):
        aio, turns = controller.aio, 0

        async def beside():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.ensure_future(beside())
        handle = controller.submit(patient, started)
        await aio.wait_for(handle, "running", timeout=PATIENCE)
        assert await aio.pause(handle)
        assert await aio.resume(handle.id)
        assert await aio.stop(handle, reason="enough")
        assert handle.status == "stopped"
        assert (await aio.transitions(handle))[-2].reason == "enough"
        assert await aio.retry(handle, force=True)
        await aio.wait_for(handle, "running", timeout=PATIENCE)
        await aio.cancel(handle, "no more", wait=False)
        assert await aio.wait(handle) == "cancelled"
        assert await aio.reset(handle, confirm=True)
        assert await aio.skip(handle)
        assert await aio.force_transition(handle, "pending", reason="again", actor="ana")
        assert await aio.start(handle)
        assert await aio.stop(handle)
        assert turns > 3
        other.cancel()

    with Controller() as controller:
        asyncio.run(main(controller))


def test_verbs_raise_what_the_blocking_ones_raise():
    """Refusals, unknown ids, a controller that is closed."""

    async def main():
        controller = Controller()
        handle = controller.submit(len, "abc")
        assert await handle == 3
        with pytest.raises(InvalidTransition):
            await controller.aio.pause(handle)
        with pytest.raises(UnknownTask):
            await controller.aio.stop("nobody")
        with pytest.raises(UnknownTask):
            await controller.aio.wait("nobody")
        await controller.aio.close()
        with pytest.raises(ControllerClosed):
            await controller.aio.stop(handle)
        with pytest.raises(ControllerClosed):
            async with controller:
                pass
        assert await handle == 3

    asyncio.run(main())


def test_questions_are_awaited_too(tmp_path):
    """Those that ask the store."""

    async def main():
        async with Controller(store=tmp_path / "runs.db").aio as aio:
            handle = aio._controller.submit(len, args=("abc",), tags=["t"])
            await handle
            assert [each.task_id for each in await aio.list_tasks(tag="t")] == [handle.id]
            assert (await aio.counts())["succeeded"] == 1
            assert (await aio.get(handle)).outcome == 3
            assert len(await aio.attempts(handle.id)) == 1
            assert await aio.output(handle) == []
            assert await aio.can(handle, "retry") == (False, (await aio.can(handle, "retry"))[1])
            report = await aio.reconcile(dry_run=True)
            assert report.lost == ()

    asyncio.run(main())


def test_a_verb_reaches_another_controller_s_record(tmp_path):
    """It goes through the store, as a blocking one does, and is not confirmed."""
    started = threading.Event()

    async def main(one, two):
        handle = one.submit(patient, started)
        await one.aio.wait_for(handle, "running", timeout=PATIENCE)
        assert await two.aio.stop(handle.id) is False
        assert await one.aio.wait(handle, timeout=PATIENCE) == "stopped"

    store = tmp_path / "runs.db"
    with Controller(store=store) as one, Controller(store=store) as two:
        asyncio.run(main(one, two))


def test_inline_attempts_do_not_block_the_loop():
    """A retry of a controller that runs tasks in the caller runs in the loop's pool."""
    seen = []

    def note():
        seen.append(threading.current_thread().name)
        if len(seen) == 1:
            raise ValueError("not yet")

    async def main(controller):
        handle = controller.submit(note)
        await controller.aio.retry(handle, force=True)
        return await handle

    with Controller(executor="inline") as controller:
        asyncio.run(main(controller))
    assert seen[0] == "MainThread"
    assert seen[1].startswith("asyncio_")


def test_an_async_task_may_steer_its_own_controller():
    """On the worker's loop, also itself: it does not wait for itself."""

    async def main_task(ctx):
        sibling = controller.submit(len, "abc")
        assert await sibling == 3
        assert not await controller.aio.stop(ctx.task_id)
        await ctx.acheckpoint()

    with Controller() as controller:
        handle = controller.submit(main_task)
        assert handle.wait(PATIENCE) == "stopped"


def test_runs_are_awaited_and_steered():
    """The run itself, its patience, its verbs."""
    started = threading.Event()
    pipeline = Pipeline("two")
    first = pipeline.add(patient, started)
    pipeline.add(len, args=(first,), name="second")
    quick = Pipeline("quick")
    quick.add(len, "abc")

    async def main(controller):
        run = await controller.aio.start_run(pipeline)
        with pytest.raises(TimeoutError, match="has not ended"):
            await run.aio.wait(timeout=0.01)
        await controller.aio.wait_for(run.handle(first), "running", timeout=PATIENCE)
        assert await run.aio.pause()
        assert await run.aio.resume()
        assert await run.aio.stop()
        assert await run == "stopped"
        assert await run.aio.retry_failed() == []
        again = quick.submit(controller)
        assert await again == "succeeded"
        assert await again.aio.cancel()

    with Controller() as controller:
        asyncio.run(main(controller))


def test_a_block_that_raises_stops_its_tasks():
    """As the blocking one does; a cancelled block as well."""
    started = threading.Event()
    handles = []

    async def main():
        async with Controller() as controller:
            handles.append(controller.submit(patient, started))
            await controller.aio.wait_for(handles[0], "running", timeout=PATIENCE)
            raise KeyError("mine")

    with pytest.raises(KeyError):
        asyncio.run(main())
    assert handles[0].status == "stopped"


def test_every_blocking_verb_has_its_twin():
    """What is new in steering must not be forgotten here."""
    verbs = {name for name, each in inspect.getmembers(Steering, inspect.isfunction) if not name.startswith("_")}
    assert verbs - {"ask"} <= set(dir(AsyncController))
