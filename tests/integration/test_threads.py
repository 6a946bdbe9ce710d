"""Tasks on real threads: verbs, honest ends, and what user code can come up with."""

from __future__ import annotations

import contextvars
import gc
import signal
import threading
import traceback
import weakref

import pytest

from chongming_task import (
    Controller,
    FailureKind,
    ResultInvalid,
    RetryPolicy,
    StillRunning,
    TaskCancelled,
    TaskExecutionError,
    TaskTimeout,
    Timeout,
    current_context,
    run_task,
    task,
)

PATIENCE = 20  # seconds; nothing here takes one


class Gate:
    """Where a task says that it came, and waits until it may go on."""

    def __init__(self):
        self.came, self.open = threading.Event(), threading.Event()

    def pass_through(self):
        self.came.set()
        assert self.open.wait(PATIENCE)

    def await_arrival(self):
        assert self.came.wait(PATIENCE)


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.open.set()


def polite(ctx, started):
    """Runs until it is told to stop."""
    started.set()
    while True:
        ctx.sleep(60)


def started(controller, target=polite, **options):
    """A record whose task runs."""
    event = threading.Event()
    handle = controller.submit(target, event, **options)
    assert event.wait(PATIENCE)
    return handle


def test_a_value_comes_back(controller):
    """As JSON, the same as any store would give it back."""
    assert controller.submit(lambda: {"a": (1, 2.5, None, True)}).result(PATIENCE) == {"a": [1, 2.5, None, True]}


def test_every_verb_on_a_running_thread(controller):
    """Pause, resume, stop, retry, cancel, reset, start: confirmed by the worker itself."""
    handle = started(controller)
    assert handle.pause(timeout=PATIENCE) is True
    assert (handle.status, handle.running) == ("paused", True)
    handle.resume()
    assert handle.status == "running"
    assert handle.stop(timeout=PATIENCE) is True
    assert (handle.status, handle.running) == ("stopped", False)
    handle.retry(force=True)
    assert handle.wait_for("running", timeout=PATIENCE) == "running"
    assert handle.cancel("no longer needed", timeout=PATIENCE) is True
    assert handle.status == "cancelled"
    handle.reset(confirm=True)
    handle.start()
    handle.wait_for("running", timeout=PATIENCE)
    assert handle.stop(timeout=PATIENCE)
    assert len(handle.attempts) == 1


def test_a_thread_that_does_not_obey_is_lost_and_listed(controller, gate):
    """Not shown as stopped; shown as running until it really ends."""
    handle = controller.submit(gate.pass_through)
    gate.await_arrival()
    assert handle.stop(timeout=0.05) is False
    assert (handle.status, handle.failure.kind, handle.running) == ("lost", FailureKind.LOST, True)
    assert [found.task_id for found in controller.abandoned()] == [handle.id]
    with pytest.raises(StillRunning):
        handle.retry()
    with pytest.raises(TaskExecutionError, match="lost"):
        handle.result(PATIENCE)
    gone = threading.Event()
    with controller_tap(controller, lambda tasks: gone.set() if not tasks[-1].abandoned else None):
        gate.open.set()
        assert gone.wait(PATIENCE)
    assert (handle.status, handle.running, controller.abandoned()) == ("lost", False, [])
    assert "given up returned" in handle.attempts[0].note
    gate.came.clear()
    handle.retry(force=True)
    assert handle.wait(PATIENCE) == "succeeded"


class controller_tap:  # noqa: N801  # reads like the function it stands for
    """A tap as a context manager."""

    def __init__(self, controller, callback):
        self.untap = controller.tap(callback)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.untap()


def test_a_swallowed_stop_is_found_at_the_next_checkpoint(controller):
    """``except BaseException`` gets it again, and again; ``except Exception`` never does."""
    met, event = [], threading.Event()

    def stubborn(ctx):
        event.set()
        for _ in range(3):
            try:
                ctx.sleep(60)
            except Exception:
                met.append("exception")
            except BaseException:
                met.append("stop")
        ctx.checkpoint()

    handle = controller.submit(stubborn)
    assert event.wait(PATIENCE)
    assert handle.stop(timeout=PATIENCE) is True
    assert handle.status == "stopped"
    assert met == ["stop"] * 3


def test_a_task_that_swallows_the_stop_and_returns_has_returned(controller):
    """What it did is told: it came to its end with a value."""
    event = threading.Event()

    def finishing(ctx):
        event.set()
        try:
            ctx.sleep(60)
        except TaskCancelled:
            return "finished anyway"

    handle = controller.submit(finishing)
    assert event.wait(PATIENCE)
    assert handle.stop(timeout=PATIENCE) is True
    assert (handle.status, handle.result()) == ("succeeded", "finished anyway")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=lambda e: type(e).__name__)
def test_what_would_end_a_program_ends_an_attempt(controller, error):
    """A failed attempt, not retried by default, and the controller goes on."""

    def leave():
        raise error

    handle = controller.submit(leave, retry=RetryPolicy(3, backoff="none"))
    assert handle.wait(PATIENCE) == "failed"
    assert handle.failure.exception_type.endswith(type(error).__name__)
    assert len(handle.attempts) == 1
    with pytest.raises(TaskExecutionError) as raised:
        handle.result()
    assert raised.value.__cause__ is error
    assert controller.submit(lambda: 1).result(PATIENCE) == 1


class Mute(Exception):
    """Cannot be shown."""

    def __str__(self):
        raise ValueError("no words")


class Deadly(Exception):
    """Ends whoever looks at it."""

    def __str__(self):
        raise SystemExit("out")


class Untold(Exception):
    """Cannot be made from its own arguments."""

    def __init__(self, one, two):
        super().__init__("told")


@pytest.mark.parametrize("error", [Mute(), Deadly(), Untold(1, 2)], ids=lambda e: type(e).__name__)
def test_an_exception_that_cannot_be_looked_at_is_a_failure(controller, error):
    """The attempt ends, its slot comes back, and the object itself is given back."""

    def fail():
        raise error

    handle = controller.submit(fail)
    assert handle.wait(PATIENCE) == "failed"
    assert handle.failure.kind is FailureKind.EXCEPTION
    assert type(error).__name__ in handle.failure.exception_type
    with pytest.raises(type(error)) as raised:
        handle.result()
    assert raised.value is error


def test_result_raises_the_tasks_exception_with_its_traceback(controller):
    """Chained, and with the frames of the task itself."""

    def inner():
        raise KeyError("deep")

    def outer():
        try:
            inner()
        except KeyError as error:
            raise ValueError("shallow") from error

    with pytest.raises(ValueError, match="shallow") as raised:
        controller.submit(outer).result(PATIENCE)
    assert isinstance(raised.value.__cause__, KeyError)
    assert {"inner", "outer"} <= {
        frame.name
        for error in (raised.value, raised.value.__cause__)
        for frame in traceback.extract_tb(error.__traceback__)
    }


def test_the_failure_tells_the_same_to_other_processes(controller):
    """Message, type and a readable traceback are data."""

    def fail():
        raise ValueError("bad\x00text \ud800")

    handle = controller.submit(fail)
    handle.wait(PATIENCE)
    failure = handle.failure
    assert (failure.message, failure.exception_type) == ("bad␀text �", "builtins.ValueError")
    assert "in fail" in failure.traceback
    assert handle.attempts[0].failure == failure


def test_a_task_that_overruns_its_time(controller):
    """Told at its checkpoint, retried as often as its policy says, then raised as TaskTimeout."""
    handle = controller.submit(
        polite, threading.Event(), timeout=Timeout(per_attempt=0.05), retry=RetryPolicy(2, backoff="none")
    )
    with pytest.raises(TaskTimeout, match="attempt limit"):
        handle.result(PATIENCE)
    assert [attempt.failure.kind for attempt in handle.attempts] == ["timeout_attempt"] * 2


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), float("nan"), b"bytes", {1: 2}, [float("inf")]],
    ids=["set", "object", "nan", "bytes", "int-key", "inf"],
)
def test_a_value_that_is_no_json_is_refused(controller, value):
    """RESULT_INVALID, never retried; the message says where, and what to do."""
    handle = controller.submit(lambda: value, retry=RetryPolicy(3, backoff="none"))
    assert handle.wait(PATIENCE) == "failed"
    assert (handle.failure.kind, len(handle.attempts)) == ("result_invalid", 1)
    with pytest.raises(ResultInvalid):
        handle.result()


def test_a_generator_is_no_value(controller):
    """A function with a forgotten ``yield`` is told."""

    def generate():
        yield 1

    assert controller.submit(generate).wait(PATIENCE) == "failed"


def test_a_task_that_stops_itself_does_not_wait_for_itself(controller):
    """Its verb returns at once, and its next checkpoint ends it."""
    answers = []

    def suicidal(ctx):
        answers.append(controller.stop(ctx.task_id))
        ctx.checkpoint()

    handle = controller.submit(suicidal)
    assert handle.wait(PATIENCE) == "stopped"
    assert answers == [False]


def test_a_task_that_pauses_itself_is_resumed_from_outside(controller):
    """Likewise."""
    paused = threading.Event()

    def self_pausing(ctx):
        assert controller.pause(ctx.task_id) is False
        paused.set()
        ctx.checkpoint()
        return "resumed"

    handle = controller.submit(self_pausing)
    assert paused.wait(PATIENCE)
    handle.wait_for("paused", timeout=PATIENCE)
    handle.resume()
    assert handle.result(PATIENCE) == "resumed"


def test_tasks_submit_tasks_and_wait_for_them(controller):
    """From a worker as from anywhere else."""

    def parent(ctx):
        return [controller.submit(pow, 2, n).result(PATIENCE) for n in range(5)]

    assert controller.submit(parent).result(PATIENCE) == [1, 2, 4, 8, 16]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals cannot be sent to a thread here")
def test_an_interrupt_while_waiting_leaves_the_task_running(controller, gate):
    """Ctrl-C ends the wait, nothing else."""
    due, told = [True], threading.Event()

    def on_signal(*_):
        if due:  # once
            due.clear()
            raise KeyboardInterrupt

    def interrupt():  # again and again: one that comes just before the wait begins does not end it
        while not told.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    handle = controller.submit(gate.pass_through)
    gate.await_arrival()
    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            handle.wait(PATIENCE)
    finally:
        told.set()
        thread.join(PATIENCE)
        signal.signal(signal.SIGINT, before)
    assert (handle.status, handle._live.waiters) == ("running", [])
    gate.open.set()
    assert handle.wait(PATIENCE) == "succeeded"


def test_submissions_from_many_threads(make_controller):
    """All are taken in, each once, ids in order within a thread."""
    controller = make_controller(max_parallel=4)
    handles = [[] for _ in range(8)]
    barrier = threading.Barrier(8)

    def submit(mine):
        barrier.wait(PATIENCE)
        mine.extend(controller.submit(int, n) for n in range(100))

    threads = [threading.Thread(target=submit, args=(mine,)) for mine in handles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    controller.wait_all(PATIENCE)
    assert controller.counts()["succeeded"] == 800
    for mine in handles:
        assert [handle.result() for handle in mine] == list(range(100))
        assert sorted(handle.id for handle in mine) == [handle.id for handle in mine]


def test_no_more_run_at_once_than_allowed(make_controller):
    """Measured in the tasks themselves."""
    controller = make_controller(max_parallel=3)
    lock, now, most = threading.Lock(), [0], [0]
    barrier = threading.Barrier(3)

    def count():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        barrier.wait(PATIENCE)  # three at a time, or it would hang
        with lock:
            now[0] -= 1

    for _ in range(30):
        controller.submit(count)
    controller.wait_all(PATIENCE)
    assert most == [3]


def test_an_idle_worker_holds_on_to_nothing(make_controller):
    """The arguments of the last task can be freed although its thread waits for the next."""
    controller = make_controller(keep_terminal=0)

    class Big:
        """Stands for a large array."""

    value = contextvars.ContextVar("value")

    def work(ctx, big):
        value.set(big)

    big = Big()
    ref = weakref.ref(big)
    controller.submit(work, big).wait(PATIENCE)
    del big
    controller.submit(int).wait(PATIENCE)  # the engine and the worker have moved on
    controller.counts()
    gc.collect()
    assert ref() is None


def test_what_a_task_sets_in_its_context_ends_with_it(make_controller):
    """A reused thread starts afresh."""
    controller = make_controller(max_parallel=1)
    value = contextvars.ContextVar("value", default="clean")

    def work():
        before = value.get()
        value.set("dirty")
        return before

    assert [controller.submit(work).result(PATIENCE) for _ in range(3)] == ["clean"] * 3


def test_the_context_of_the_running_task(controller):
    """Its fields, its log, its own events, its loop helpers; and from deep inside by current_context()."""
    seen = {}

    def deep():
        current_context().progress(message="from deep inside")

    @task(name="demo", timeout=Timeout(per_attempt=100))
    def work(ctx, n):
        seen.update(id=ctx.task_id, name=ctx.name, attempt=ctx.attempt, run=ctx.pipeline_run_id, deadline=ctx.deadline)
        assert current_context() is ctx
        ctx.emit("milestone", {"n": n})
        ctx.log.info("half way")
        ctx.sleep(0)
        total = sum(ctx.track(range(n), unit="rows"))
        deep()
        return total

    heard, emitted = [], threading.Event()
    with controller.watch(lambda event: (heard.append(event), emitted.set()), types=[]) as subscription:
        handle = controller.submit(work, 5)
        assert handle.result(PATIENCE) == 10
    subscription._thread.join(PATIENCE)
    assert seen["id"] == handle.id
    assert (seen["name"], seen["attempt"], seen["run"]) == ("demo", 1, None)
    assert seen["deadline"] > handle.snapshot.started_at
    assert [event.payload for event in heard if type(event).__name__ == "TaskEmitted"] == [{"n": 5}]
    progress = handle.progress
    assert (progress.done, progress.total, progress.unit, progress.message) == (5, 5, "rows", "from deep inside")


def test_log_records_carry_the_task(controller, caplog):
    """So that a handler can tell them apart."""

    def work(ctx):
        ctx.log.warning("look here")

    with caplog.at_level("WARNING"):
        handle = controller.submit(work)
        handle.wait(PATIENCE)
    (record,) = [record for record in caplog.records if record.getMessage() == "look here"]
    assert (record.task_id, record.task_name, record.attempt) == (handle.id, "work", 1)
    assert record.pipeline_run_id is None


class Endless:
    """Has a length that cannot be had."""

    def __len__(self):
        raise TypeError("no length")

    def __iter__(self):
        return iter("abc")


def test_track_goes_through_anything(controller):
    """With a total where there is one."""

    def work(ctx, items, **options):
        return list(ctx.track(items, **options))

    assert controller.submit(work, Endless()).result(PATIENCE) == ["a", "b", "c"]
    handle = controller.submit(work, iter([1, 2]), kwargs={"total": 2, "unit": "parts"})
    assert handle.result(PATIENCE) == [1, 2]
    assert (handle.progress.done, handle.progress.total, handle.progress.unit) == (2, 2, "parts")
    assert controller.submit(work, []).result(PATIENCE) == []


def test_there_is_no_context_outside_a_task():
    """The error says where it works."""
    with pytest.raises(ValueError, match="inside a task"):
        current_context()


def test_run_task_needs_no_controller():
    """It waits, gives the handle, and leaves nothing behind."""
    handle = run_task(polite_sum, [1, 2, 3], scale=2)
    assert (handle.result(), handle.status, len(handle.attempts)) == (12, "succeeded", 1)
    failed = run_task(int, "x", retry=RetryPolicy(2, backoff="none"))
    assert len(failed.attempts) == 2
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result()
    with pytest.raises(ValueError, match="missing"):
        run_task(polite_sum)


def polite_sum(ctx, numbers, scale=1):
    """Sums with checkpoints."""
    return sum(ctx.track(numbers)) * scale


def test_a_task_without_parameters_needs_no_context(controller):
    """Deeper code reaches it all the same."""
    assert controller.submit(lambda: current_context().name).result(PATIENCE) == "<lambda>"


async def count_slowly(ctx, n):
    """A coroutine, with its own loop."""
    import asyncio

    for _ in range(n):
        ctx.checkpoint()
        await asyncio.sleep(0)
    return n


def test_a_coroutine_runs_to_its_end_on_its_own_loop(controller):
    """Beside others, each on a loop of its worker."""
    handles = [controller.submit(count_slowly, n) for n in range(5)]
    assert [handle.result(PATIENCE) for handle in handles] == list(range(5))


def test_a_coroutine_is_stopped_at_its_checkpoint(controller):
    """The signal passes through the loop."""
    event = threading.Event()

    async def forever(ctx):
        import asyncio

        event.set()
        while True:
            ctx.checkpoint()
            await asyncio.sleep(0.001)

    handle = controller.submit(forever)
    assert event.wait(PATIENCE)
    assert handle.stop(timeout=PATIENCE) is True
    assert handle.status == "stopped"


def test_an_error_in_a_coroutine_is_its_failure(controller):
    """As in any other function."""

    async def fail():
        raise LookupError("awaited in vain")

    with pytest.raises(LookupError, match="in vain"):
        controller.submit(fail).result(PATIENCE)


def test_a_back_off_of_the_caller_s_is_asked_in_the_worker():
    """No code of a caller runs on the engine thread: one that takes long would hold everybody up."""
    asked_on = []

    class Slow:
        def delay(self, failed, chance):
            asked_on.append(threading.current_thread().name)
            return 0.01 * failed

    def fail_once(ctx):
        if ctx.attempt == 1:
            raise ValueError("once")

    with Controller() as controller:
        handle = controller.submit(fail_once, retry=RetryPolicy(max_attempts=2, backoff=Slow()))
        handle.result(timeout=10)
    assert len(asked_on) == 1
    assert asked_on[0].startswith("chongming-worker")


def test_the_task_s_exception_is_the_same_however_often_it_is_asked_for(controller):
    """Its traceback is the task's, and does not grow with every call."""

    def fail():
        raise ValueError("once")

    handle = controller.submit(fail)
    lengths = set()
    for _ in range(5):
        with pytest.raises(ValueError, match="once") as caught:
            handle.result(PATIENCE)
        lengths.add(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(lengths) == 1
