"""What a running task holds: its deadline, what it was handed, its log, and the twins for coroutines."""

from __future__ import annotations

import asyncio
import logging
import pydoc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from chongming_task import ConfigurationError, TaskCancelled, UnknownInput, current_context
from chongming_task.core.effects import StopReason
from chongming_task.core.failures import FailureKind
from chongming_task.core.ports import AttemptRequest, Emitted
from chongming_task.core.triggers import Ended, Held, Started
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.invoke import invoke
from chongming_task.runtime.token import CancellationToken
from chongming_task.runtime.upstream import Upstream
from chongming_task.testing import FakeClock

PATIENCE = 20


class Attempt:
    """An attempt in a thread of its own, told by hand."""

    def __init__(self, target, *args, **options) -> None:
        self.reports: list[object] = []
        self.held = threading.Event()
        self.error: list[BaseException] = []
        self.token = CancellationToken(1, self.deliver)
        request = AttemptRequest("id", "name", 1, target, args, takes_context=True, **options)
        self.pool = ThreadPoolExecutor(1)
        self.end = self.pool.submit(invoke, request, self.token, self.deliver, keep=self.error.append)

    def deliver(self, report: object) -> None:
        self.reports.append(report)
        if isinstance(report, Held):
            self.held.set()

    def ended(self) -> Ended:
        try:
            return self.end.result(PATIENCE)
        finally:
            self.pool.shutdown()


def context(clock: FakeClock | None = None, *, deadline: datetime | None = None, **options) -> TaskContext:
    reports: list[object] = []
    clock = clock or FakeClock()
    token = CancellationToken(1, reports.append, clock.monotonic)
    return TaskContext(AttemptRequest("id", "name", 1, print, **options), token, reports.append, deadline)


def test_a_body_that_has_no_context_is_told_how_to_get_one():
    """Whoever forgot the parameter meets a NameError in the worker."""

    def body():
        ctx.checkpoint()  # noqa: F821

    request = AttemptRequest("id", "name", 1, body)
    ended = invoke(request, CancellationToken(1, print), [].append, keep=[].append)
    assert "NameError: name 'ctx' is not defined" in ended.failure.traceback
    assert "give its function a first parameter named ctx" in ended.failure.traceback


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (lambda ctx: ctx.sleep(-1), "sleep takes a number of seconds, 0 or more, got -1"),
        (lambda ctx: ctx.sleep("1"), "sleep takes a number of seconds, 0 or more, got '1'"),
        (lambda ctx: ctx.sleep(float("nan")), "got nan"),
        (lambda ctx: asyncio.run(ctx.asleep(-2)), "sleep takes a number of seconds, 0 or more, got -2"),
        (lambda ctx: ctx.progress("half"), "got 'half'; words go into message=: progress(3, 10, message=\"half\")"),
        (lambda ctx: ctx.progress(1, [2]), "progress takes numbers, got [2]"),
        (lambda ctx: list(ctx.track(5)), "track goes through items, got 5; a number of steps is ctx.track(range(5))"),
        (lambda ctx: list(ctx.track(None)), "track goes through items, got None; such as a list"),
        (lambda ctx: list(ctx.track(ctx.atrack([]))), "this one goes into ctx.atrack"),
        (lambda ctx: asyncio.run(anext(ctx.atrack(5))), "a number of steps is ctx.atrack(range(5))"),
    ],
)
def test_what_cannot_work_is_told_in_the_words_of_the_call(use, said):
    """And not in those of what happens inside."""
    with pytest.raises(ConfigurationError) as refused:
        use(context())
    assert said in str(refused.value)


def test_help_tells_what_a_checkpoint_does():
    """The most used name of all is documented where people look: at the class, and at the context in hand."""
    in_hand = TaskContext(AttemptRequest("id", "name", 1, print), CancellationToken(1, print), print)
    for what in (TaskContext.checkpoint, in_hand.checkpoint):
        assert "wait here while the task is paused, or raise TaskCancelled" in pydoc.plain(pydoc.render_doc(what))


def test_the_context_shows_what_tasks_use():
    """And nothing of how output is captured."""
    shown = {name for name in dir(TaskContext) if not name.startswith("_")}
    assert shown == {
        *("acheckpoint", "artifacts", "asleep", "atrack", "attempt", "checkpoint", "deadline", "emit", "input", "log"),
        *("name", "pipeline_run_id", "progress", "sleep", "task_id", "track", "upstream"),
    }


def test_the_deadline_moves_out_with_pauses():
    """While the task is held, and by all the time it was."""
    clock, end = FakeClock(), datetime(2030, 1, 1, tzinfo=UTC)
    ctx = context(clock, deadline=end)
    token = ctx._token
    assert ctx.deadline == end
    token.pause(1)
    assert token.begin_hold() == 1
    clock.advance(30)
    assert ctx.deadline == end + timedelta(seconds=30)
    token.resume()
    token.end_hold()
    clock.advance(30)
    assert ctx.deadline == end + timedelta(seconds=30)
    assert context().deadline is None


def test_a_limit_gives_a_deadline():
    """An absolute moment, UTC."""
    before = datetime.now(UTC)
    attempt = Attempt(lambda ctx: ctx.deadline.isoformat(), limit_seconds=60)
    deadline = datetime.fromisoformat(attempt.ended().outcome)
    assert before + timedelta(seconds=60) <= deadline <= datetime.now(UTC) + timedelta(seconds=60)


def test_what_a_task_was_handed():
    """By name; a name that is not there is told with those that are."""
    ctx = context(input={"day": "monday"}, upstream=Upstream({"load": [1, 2]}, (), None))
    assert (ctx.input["day"], dict(ctx.input), ctx.input.get("none")) == ("monday", {"day": "monday"}, None)
    assert ctx.upstream("load") == [1, 2]
    with pytest.raises(UnknownInput, match=r"ctx.input holds no 'dya'; it holds 'day'"):
        ctx.input["dya"]
    with pytest.raises(KeyError, match=r"no upstream node 'lod' here; there is 'load'"):
        ctx.upstream("lod")
    with pytest.raises(UnknownInput, match="it holds nothing"):
        context().upstream("load")
    assert len(context().input) == 0


@pytest.mark.parametrize("kind", ["", "  ", None, 3], ids=repr)
def test_what_is_emitted_has_a_word_for_it(kind):
    """Anything else is refused where it is said."""
    with pytest.raises(ConfigurationError, match="emit takes a word"):
        context().emit(kind, 1)


def test_the_word_is_cleaned():
    """Like all text of users."""
    told = []
    ctx = TaskContext(AttemptRequest("id", "n", 1, print), CancellationToken(1, told.append), told.append)
    ctx.emit("row\0", {"a": 1})
    assert told == [Emitted(1, "row␀", {"a": 1})]


def test_log_takes_keywords_and_tells_the_callers_line(caplog):
    """Records carry the task's fields, the caller's extra ones, and the place they were made at."""
    ctx = context(pipeline_run_id="run")
    with caplog.at_level(logging.INFO):
        ctx.log.info("loaded %d%%", 50, rows=3, extra={"shard": 7})
        ctx.log.debug("unheard")
    (record,) = caplog.records
    assert record.getMessage() == "loaded 50% rows=3"
    assert (record.task_id, record.task_name, record.attempt, record.pipeline_run_id) == ("id", "name", 1, "run")
    assert (record.shard, record.funcName) == (7, "test_log_takes_keywords_and_tells_the_callers_line")


# coroutines


def test_a_coroutine_runs_to_its_end():
    """With the context of its task."""

    async def task(ctx):
        await ctx.acheckpoint()
        assert current_context() is ctx
        return [item async for item in ctx.atrack(range(3))]

    attempt = Attempt(task)
    assert attempt.ended().outcome == [0, 1, 2]
    assert isinstance(attempt.reports[0], Started)
    assert attempt.token.progress.done == 3
    assert attempt.token.progress.total == 3


def test_async_iterables_are_tracked():
    """Their length is unknown."""

    async def numbers():
        for number in range(2):
            yield number

    async def task(ctx):
        return [item async for item in ctx.atrack(numbers(), unit="rows")]

    attempt = Attempt(task)
    assert attempt.ended().outcome == [0, 1]
    assert (attempt.token.progress.total, attempt.token.progress.unit) == (None, "rows")


def stopped(task, reason=StopReason.STOP) -> Attempt:
    """An attempt of ``task``, which sets the event it is given, stopped once it has."""
    came = threading.Event()
    attempt = Attempt(task, came)
    assert came.wait(PATIENCE)
    attempt.token.stop(reason)
    return attempt


def test_a_stop_cancels_whatever_is_awaited():
    """At once, as TaskCancelled, which asyncio takes for a cancellation as well."""
    seen: list[BaseException] = []

    async def task(ctx, came):
        came.set()
        try:
            await asyncio.Event().wait()
        except TaskCancelled as signal:
            seen.append(signal)
            raise

    ended = stopped(task).ended()
    assert ended.failure.kind is FailureKind.CANCELLED
    assert isinstance(seen[0], asyncio.CancelledError)


def test_a_stop_reaches_a_task_group():
    """Its children are cancelled, and the group of signals that comes of it counts as one."""
    children: list[str] = []

    async def child():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            children.append("cancelled")
            raise

    async def in_the_body(ctx, came):
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            await asyncio.sleep(0)
            came.set()
            await asyncio.Event().wait()

    async def at_the_end(ctx, came):
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
            await asyncio.sleep(0)
            came.set()

    for task in (in_the_body, at_the_end):
        children.clear()
        assert stopped(task).ended().failure.kind is FailureKind.CANCELLED
        assert children == ["cancelled"]


def test_a_limit_cancels_too():
    """And counts as a timeout."""

    async def task(ctx, came):
        came.set()
        await ctx.asleep(3600)

    assert stopped(task, StopReason.TIMEOUT_ATTEMPT).ended().failure.kind is FailureKind.TIMEOUT_ATTEMPT


def test_a_swallowed_stop_is_told_again():
    """At the next checkpoint."""
    reached: list[str] = []

    async def task(ctx, came):
        came.set()
        try:
            await asyncio.Event().wait()
        except TaskCancelled:
            reached.append("swallowed")
        await ctx.acheckpoint()
        reached.append("went on")

    assert stopped(task).ended().failure.kind is FailureKind.CANCELLED
    assert reached == ["swallowed"]


def test_asyncios_own_timeouts_stay_its_own():
    """A cancellation that no stop brought is none of ours."""

    async def task(ctx):
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        except TimeoutError:
            return "timed out"

    assert Attempt(task).ended().outcome == "timed out"


def test_a_coroutine_that_cancels_itself_has_failed():
    """Nobody asked it to stop."""

    async def task(ctx):
        raise asyncio.CancelledError

    failure = Attempt(task).ended().failure
    assert (failure.kind, failure.exception_type) == (FailureKind.EXCEPTION, "asyncio.exceptions.CancelledError")


@pytest.mark.parametrize("end", ["resume", "stop"])
def test_a_pause_holds_the_coroutine_and_not_the_loop(end):
    """Others on the loop go on; resume lets it go on, stop ends it."""
    beats: list[int] = []
    beating = threading.Event()

    async def beat():
        while True:
            beats.append(1)
            if len(beats) > 3:
                beating.set()
            await asyncio.sleep(0)

    async def task(ctx, came):
        other = asyncio.create_task(beat())
        came.set()
        try:
            while not leave.is_set():
                await ctx.acheckpoint()
                await asyncio.sleep(0)
        finally:
            other.cancel()
        return "went on"

    leave, came = threading.Event(), threading.Event()
    attempt = Attempt(task, came)
    assert came.wait(PATIENCE)
    attempt.token.pause(7)
    assert attempt.held.wait(PATIENCE)
    beats.clear(), beating.clear()
    assert beating.wait(PATIENCE)
    leave.set()
    attempt.token.resume() if end == "resume" else attempt.token.stop(StopReason.STOP)
    ended = attempt.ended()
    assert ended.outcome == "went on" if end == "resume" else ended.failure.kind is FailureKind.CANCELLED
    assert [report for report in attempt.reports if isinstance(report, Held)] == [Held(1, 7)]


def test_it_runs_where_a_loop_runs_already():
    """As the inline executor does in a notebook: on a thread beside, in the same context."""
    threads: list[int] = []

    async def task(ctx):
        threads.append(threading.get_ident())
        return current_context().task_id

    async def notebook():
        token = CancellationToken(1, lambda report: None)
        request = AttemptRequest("id", "name", 1, task, takes_context=True)
        return invoke(request, token, lambda report: None, keep=lambda error: None)

    assert asyncio.run(notebook()).outcome == "id"
    assert threads != [threading.get_ident()]


def test_asyncio_waits_until_it_is_needed():
    """Importing it costs more than everything else together."""
    code = "import sys, chongming_task as c; c.run_task(int); c.run_task(print); sys.exit('asyncio' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
