"""A fault of the library inside a pipeline run: whoever waits is told, other runs go on, and there is a way out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from chongming_task import Controller, Pipeline, TaskError, task
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.live_run import LiveRun
from chongming_task.runtime.pipelines import Pipelines

S = TaskStatus


@task
def step(value: int = 1) -> int:
    """One more."""
    return value + 1


def two_steps(name: str) -> Pipeline:
    """One after the other."""
    pipeline = Pipeline(name)
    pipeline.add(step, pipeline.add(step, name="first"), name="second")
    return pipeline


@pytest.fixture
def break_down(monkeypatch) -> Callable[[str, str], threading.Event]:
    """Makes a method of the runs' engine raise, for runs of a pipeline, until the event is set."""

    def break_down(method: str, pipeline: str) -> threading.Event:
        mended = threading.Event()
        sound = getattr(Pipelines, method)

        def broken(self: Pipelines, run: LiveRun, *args: Any) -> Any:
            if run.name == pipeline and not mended.is_set():
                raise ZeroDivisionError("planted")
            return sound(self, run, *args)

        monkeypatch.setattr(Pipelines, method, broken)
        return mended

    return break_down


def test_who_waits_is_told_and_other_runs_go_on(break_down):
    """By wait and by await, also those who come later; the fault is the cause of what they get."""
    break_down("_carry_out", "broken")
    with Controller() as controller:
        run, other = two_steps("broken").submit(controller), two_steps("sound").submit(controller)
        for _ in range(2):
            with pytest.raises(TaskError, match=r"a fault in chongming-task \(ZeroDivisionError: planted\)") as caught:
                run.wait(timeout=30)
            assert isinstance(caught.value.__cause__, ZeroDivisionError)

        async def wait() -> None:
            await run

        with pytest.raises(TaskError, match="cannot go on"):
            asyncio.run(wait())
        assert other.wait(timeout=30).value == "succeeded"
        assert run.cancel()
        assert run.wait(timeout=30).value == "cancelled"


def test_once_it_is_mended_the_run_goes_on(break_down):
    """``retry_failed`` decides anew what follows."""
    mended = break_down("_carry_out", "broken")
    with Controller() as controller:
        run = two_steps("broken").submit(controller)
        with pytest.raises(TaskError):
            run.wait(timeout=30)
        mended.set()
        run.retry_failed()
        assert run.wait(timeout=30).value == "succeeded"
        assert run.result("second") == 3


def test_a_verb_that_breaks_down_does_not_hold_up_its_caller(monkeypatch):
    """It gets the fault instead of an answer."""
    begun, held = threading.Event(), threading.Event()

    @task
    def hold() -> None:
        begun.set()
        held.wait(30)

    def broken(self: object, *args: object) -> Any:
        raise ZeroDivisionError("planted")

    pipeline = Pipeline("held")
    pipeline.add(hold)
    with Controller() as controller:
        run = pipeline.submit(controller)
        assert begun.wait(30)
        monkeypatch.setattr("chongming_task.runtime.run_engine.RunEngine.watches", broken)
        with pytest.raises(TaskError, match="planted"):
            run.stop()
        monkeypatch.undo()
        held.set()
        assert run.handle("hold").wait(timeout=30) is S.SUCCEEDED
