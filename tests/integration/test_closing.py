"""The end of a controller: everything is stopped or named, and nobody is left waiting."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from chongming_task import CloseReport, Controller, ControllerClosed, MemoryTaskStore, TaskStatus, ThreadExecutor
from chongming_task.runtime.driver import ThreadDriver
from chongming_task.testing import check_audit

PATIENCE = 20


def polite(ctx, started):
    """Runs until it is told to stop."""
    started.set()
    ctx.sleep(3600)


def test_the_report_names_every_record():
    """What was running, waiting and paused is stopped; what had ended is not mentioned."""
    controller, event = Controller(max_parallel=1), threading.Event()
    ended = controller.submit(int)
    ended.wait(PATIENCE)
    running = controller.submit(polite, event)
    assert event.wait(PATIENCE)
    queued, pending = controller.submit(int), controller.submit(int, start=False)
    report = controller.close()
    assert set(report.stopped) == {running.id, queued.id, pending.id}
    assert (report.lost, report.ended, report.unfinished) == ((), (), ())
    assert queued.attempts == []
    assert running.transitions[-2].actor == "controller"
    assert controller.close() == CloseReport()
    check_audit(controller._link.store, settled=True)


def test_what_raises_on_the_way_leaves_nothing_open():
    """An executor that will not close, or Ctrl-C while hooks are waited for: all others are let go, and it is told."""

    class Broken(ThreadExecutor):
        def close(self):
            super().close()
            raise KeyboardInterrupt

    closed = []
    store = MemoryTaskStore()
    store.close = lambda: closed.append("store")
    controller = Controller(store, executor=Broken())
    subscription, stream = controller.watch(print), controller.stream()
    with pytest.raises(KeyboardInterrupt):
        controller.close()
    assert (subscription.closed, stream.closed, closed) == (True, True, ["store"])


def test_a_stuck_thread_is_named_as_lost():
    """Closing does not wait for it longer than its grace."""
    controller, came, leave = Controller(), threading.Event(), threading.Event()

    def stuck():
        came.set()
        leave.wait(PATIENCE)

    handle = controller.submit(stuck)
    assert came.wait(PATIENCE)
    began = time.monotonic()
    report = controller.close(timeout=0.1)
    assert time.monotonic() - began < 5
    assert report.lost == (handle.id,)
    assert handle.running
    leave.set()
    check_audit(controller._link.store, settled=True)


def test_the_block_waits_for_its_tasks():
    """And for theirs."""
    with Controller() as controller:
        handle = controller.submit(lambda: controller.submit(pow, 2, 5).id)
    assert handle.status == "succeeded"
    assert controller.get(handle.result()).outcome == 32


def test_the_block_stops_its_tasks_when_it_raises():
    """The error goes on."""
    event = threading.Event()
    with pytest.raises(LookupError), Controller() as controller:  # noqa: PT012  # the block is what is tested
        handle = controller.submit(polite, event)
        assert event.wait(PATIENCE)
        raise LookupError
    assert handle.status == "stopped"


def test_the_threads_end():
    """Idle workers, the engine and the subscribers go; the leak check of the suite sees to the rest."""
    before = threading.active_count()
    controller = Controller()
    subscription = controller.watch(lambda event: None)
    for handle in [controller.submit(int) for _ in range(10)]:
        handle.wait(PATIENCE)
    controller.close()
    subscription._thread.join(PATIENCE)
    for thread in threading.enumerate():
        if thread.name.startswith("chongming-"):
            thread.join(PATIENCE)
    assert threading.active_count() == before


def test_a_store_may_outlive_its_controller():
    """close_store=False leaves it for the next one."""

    class Closable(MemoryTaskStore):
        closed = False

        def close(self):
            self.closed = True

    store = Closable()
    Controller(store).close(close_store=False)
    assert not store.closed
    controller = Controller(store)
    controller.submit(int).wait(PATIENCE)
    controller.close()
    assert store.closed


class Interrupted(ThreadDriver):
    """Ctrl-C comes while somebody waits."""

    def wait(self, event, timeout=None):
        raise KeyboardInterrupt


def test_an_interrupted_close_leaves_nothing_behind(tmp_path):
    """The engine ends, the store is closed and stdout is what it was; what is shown of it still can be."""
    before, driver = sys.stdout, Interrupted()
    controller = Controller(tmp_path / "runs.db", driver=driver)
    assert sys.stdout is not before
    with pytest.raises(KeyboardInterrupt):
        controller.close()
    assert sys.stdout is before
    assert not driver._thread.is_alive()
    assert "its store cannot be read, closed" in repr(controller)


def test_a_store_that_fails_does_not_keep_it_busy():
    """Closing comes to its end, and says what could not be stored."""

    class Broken(MemoryTaskStore):
        tried = 0

        def commit(self, writes):
            self.tried += 1
            raise OSError("no space left")

    store = Broken()
    controller = Controller(store)
    handle = controller.submit(int)
    assert handle.wait(PATIENCE) == "succeeded"
    began = time.monotonic()
    controller.close()
    assert time.monotonic() - began < 4
    assert store.tried < 10
    assert "no space left" in controller.persist_failures[0]
    assert not controller._link.driver._thread.is_alive()


def test_whoever_comes_while_it_closes_is_answered():
    """Submissions and verbs race with close: each is done or refused, none waits for ever, and nothing runs on."""
    for _ in range(15):
        controller = Controller(max_parallel=2)
        barrier, handles, strays = threading.Barrier(4), [], []

        def act(controller=controller, barrier=barrier, handles=handles, strays=strays):
            barrier.wait(PATIENCE)
            try:
                for _ in range(1000):
                    handle = controller.submit(lambda ctx: ctx.sleep(3600))
                    handles.append(handle)
                    handle.pause(timeout=0, wait=False)
                    handle.resume()
                    controller.waiting_for(handle.id)
            except ControllerClosed:
                return
            except Exception as error:
                strays.append(error)

        threads = [threading.Thread(target=act) for _ in range(3)]
        for thread in threads:
            thread.start()
        barrier.wait(PATIENCE)
        report = controller.close(timeout=PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert strays == []
        assert report.unfinished == ()
        stored = controller.list_tasks()
        assert {task.status for task in stored} <= {TaskStatus.STOPPED}
        assert {handle.id for handle in handles} <= {task.task_id for task in stored}
        check_audit(controller._link.store, settled=True)


def test_a_submission_that_slips_behind_the_end_is_refused():
    """It passed the first check, and the controller was closed before the record was handed over."""
    controller = Controller()
    make = controller._submissions.make

    def make_and_close(*args):
        live = make(*args)
        controller.close()
        return live

    controller._submissions.make = make_and_close
    with pytest.raises(ControllerClosed):
        controller.submit(int)
    assert controller.list_tasks() == []


def test_a_verb_that_slips_behind_the_end_is_refused():
    """Likewise; it must not wait for an answer that nobody gives."""
    controller = Controller()
    handle = controller.submit(int)
    handle.wait(PATIENCE)
    ask = controller._link.engine.ask

    def close_and_ask(*args):
        controller.close()
        ask(*args)

    controller._link.engine.ask = close_and_ask
    with pytest.raises(ControllerClosed):
        handle.reset(confirm=True)
    assert handle.status == "succeeded"


def test_an_engine_that_is_stuck_is_told(monkeypatch):
    """A view that blocks it: closing does not wait for ever, and names what it could not end."""
    monkeypatch.setattr("chongming_task.api.closing.KILL_SECONDS", 0.05)
    controller, came, leave = Controller(), threading.Event(), threading.Event()
    controller.tap(lambda changed: (came.set(), leave.wait(PATIENCE)))
    handle = controller.submit(int)
    assert came.wait(PATIENCE)
    monkeypatch.setattr(
        controller._link.driver, "stop", lambda: (leave.set(), ThreadDriver.stop(controller._link.driver))
    )
    assert controller.close(timeout=0).unfinished == (handle.id,)


def test_two_who_close_at_once():
    """One does it."""
    controller = Controller()
    controller.submit(lambda ctx: ctx.sleep(3600))
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(controller.close())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sum(bool(report.stopped) for report in reports) == 1


def test_a_task_may_close_its_controller():
    """It is told to stop like the others, and given up as it waits."""
    controller, closed = Controller(), []

    def closing(ctx):
        closed.append(controller.close(timeout=0.05))

    handle = controller.submit(closing)
    handle.wait(PATIENCE)
    for thread in threading.enumerate():
        if thread.name.startswith("chongming-"):
            thread.join(PATIENCE)
    assert closed[0].lost == (handle.id,)


STUCK = """
import threading, time
from chongming_task import Controller, run_task
started = threading.Event()
def stuck():
    started.set()
    while True:
        time.sleep(0.01) if {sleeps} else None
controller = Controller()
controller.submit(stuck)
controller.watch(lambda event: time.sleep(3600))
controller.submit(lambda: 1).result(10)
assert started.wait(10)
print("end of main", time.time(), flush=True)
"""


@pytest.mark.parametrize("sleeps", [True, False])
def test_the_interpreter_ends_with_a_stuck_task_and_no_close(sleeps):
    """Within three seconds of the end of main."""
    done = subprocess.run(
        [sys.executable, "-c", STUCK.format(sleeps=sleeps)], capture_output=True, text=True, timeout=50
    )
    ended = time.time()
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert ended - float(done.stdout.split()[-1]) < 3
