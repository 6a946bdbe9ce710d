"""The inline executor: everything happens in the caller's thread, and no two callers get in each other's way."""

from __future__ import annotations

import asyncio
import threading

import pytest

from chongming_task import FixedBackoff, InvalidTransition, RetryPolicy, run_task

PATIENCE = 20


@pytest.fixture
def inline(make_controller):
    return make_controller(executor="inline")


def where(ctx=None):
    """The thread it runs in."""
    return threading.current_thread().name


def in_thread(function, *args):
    """Run it in a thread of its own; its result, or the error it raised."""
    found = []

    def run():
        try:
            found.append(function(*args))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, name="another")
    thread.start()
    return thread, found


def test_it_runs_in_the_caller_who_comes_back_when_it_has_ended(inline):
    """No wait is needed."""
    handle = inline.submit(where)
    assert handle.status == "succeeded"
    assert handle.result() == threading.current_thread().name
    thread, found = in_thread(lambda: inline.submit(where).result())
    thread.join(PATIENCE)
    assert found == ["another"]


def test_retries_run_in_the_caller_too(inline):
    """Automatic ones with their back-off, and one that is asked for."""
    ran = []

    def flaky(ctx):
        ran.append(threading.current_thread())
        if len(ran) < 3:
            raise ValueError("again")
        if len(ran) == 3:
            ctx.checkpoint()
            raise KeyError("once more")
        return len(ran)

    handle = inline.submit(flaky, retry=RetryPolicy(3, backoff=FixedBackoff(0.01)))
    assert (handle.status, len(ran)) == ("failed", 3)
    handle.retry(force=True)
    assert (handle.status, handle.result()) == ("succeeded", 4)
    assert set(ran) == {threading.current_thread()}


def test_a_record_that_is_not_started_runs_when_it_is(inline):
    """In the thread that starts it."""
    handle = inline.submit(where, start=False)
    assert handle.status == "pending"
    handle.start()
    assert handle.result() == threading.current_thread().name


def test_a_pause_is_refused_at_once(inline):
    """Holding the task would hold the caller."""
    answers = []

    def work(ctx):
        thread, found = in_thread(lambda: inline.pause(ctx.task_id, timeout=1000))
        thread.join(PATIENCE)
        answers.extend(found)
        ctx.checkpoint()

    handle = inline.submit(work)
    assert answers == [False]
    assert handle.status == "succeeded"
    assert [edge.to_status for edge in handle.transitions][-3:] == ["pausing", "running", "succeeded"]


def test_verbs_of_others_do_not_take_the_task_away(inline):
    """While one thread runs it, another may start, resume or retry: accepted, or refused, and nothing breaks."""
    outcomes = []

    def work(ctx):
        for verb in (inline.start, inline.resume, inline.retry):
            thread, found = in_thread(verb, ctx.task_id)
            thread.join(PATIENCE)
            assert not thread.is_alive()
            outcomes.extend(found)
        inline.start(ctx.task_id)  # and so may the task itself
        return "done"

    handle = inline.submit(work)
    assert handle.result(PATIENCE) == "done"
    assert outcomes[:2] == [True, True]
    assert isinstance(outcomes[2], InvalidTransition)


def test_a_stop_from_another_thread_ends_it_at_its_checkpoint(inline):
    """And the caller comes back."""
    running = threading.Event()

    def work(ctx):
        running.set()
        ctx.sleep(60)

    thread, found = in_thread(inline.submit, work)
    assert running.wait(PATIENCE)
    (task,) = inline.list_tasks()
    assert inline.stop(task.task_id, timeout=PATIENCE) is True
    thread.join(PATIENCE)
    assert found[0].status == "stopped"


def test_a_caller_in_the_back_off_comes_back_when_it_is_stopped(inline):
    """It waits for the next attempt, which never comes."""

    def fail():
        raise ValueError("x")

    policy = RetryPolicy(2, backoff=FixedBackoff(1000))
    waiting = threading.Event()
    untap = inline.tap(lambda tasks: waiting.set() if tasks[-1].status == "retry_wait" else None)
    thread, found = in_thread(lambda: inline.submit(fail, retry=policy))
    assert waiting.wait(PATIENCE)
    untap()
    (task,) = inline.list_tasks()
    assert inline.stop(task.task_id)
    thread.join(PATIENCE)
    assert found[0].status == "stopped"


def test_callers_do_not_mix(make_controller):
    """Many threads, each with its own records, and fewer slots than threads."""
    controller = make_controller(executor="inline", max_parallel=3)
    barrier = threading.Barrier(8)

    def submit_some(number):
        barrier.wait(PATIENCE)
        return [controller.submit(threading.get_ident).result() for _ in range(20)]

    runs = [in_thread(submit_some, number) for number in range(8)]
    for thread, _ in runs:
        thread.join(PATIENCE)
    for thread, (found,) in runs:
        assert set(found) == {thread.ident}
    assert controller.counts()["succeeded"] == 160


def test_two_who_retry_at_once_run_it_once(inline):
    """One runs it, the other is refused or has nothing to do."""
    ran, barrier = [], threading.Barrier(2)

    def work():
        ran.append(1)
        raise ValueError("x")

    handle = inline.submit(work)
    for _ in range(30):
        ran.clear()

        def retry():
            barrier.wait(PATIENCE)
            handle.retry(force=True)

        runs = [in_thread(retry) for _ in range(2)]
        for thread, _ in runs:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        handle.wait(PATIENCE)
        assert len(ran) in (1, 2)  # the second may come after the first has ended
        assert all(found[0] is None or isinstance(found[0], InvalidTransition) for _, found in runs)


def test_an_inline_task_may_submit_another(inline):
    """It runs within, in the same thread."""
    handle = inline.submit(lambda: inline.submit(where).result())
    assert handle.result() == threading.current_thread().name


def test_a_coroutine_runs_beside_the_callers_loop():
    """As from a cell of a notebook, where a loop runs already."""

    async def work(ctx, n):
        await asyncio.sleep(0)
        ctx.checkpoint()
        return n

    async def cell():
        return run_task(work, 5, executor="inline").result()

    assert asyncio.run(cell()) == 5
    assert run_task(work, 6, executor="inline").result() == 6


def test_an_interrupt_ends_the_attempt_and_not_the_controller(inline):
    """Ctrl-C while a task runs in the caller's own thread."""

    def work():
        raise KeyboardInterrupt

    handle = inline.submit(work)
    assert (handle.status, handle.failure.exception_type) == ("failed", "builtins.KeyboardInterrupt")
    assert inline.submit(lambda: 1).result() == 1


def test_a_retry_that_nobody_waits_for_gets_a_thread(inline):
    """From a panel, say, which must not be held up."""
    names = []

    def work():
        names.append(threading.current_thread().name)
        raise ValueError("x")

    handle = inline.submit(work)
    inline.ask("retry", [handle.id], actor="panel", done=lambda answers: None, force=True)
    inline.counts()
    assert handle.wait(PATIENCE) == "failed"
    assert names == [threading.current_thread().name, "chongming-worker-inline"]
