"""Tasks in processes of their own, through a real controller: stops, limits, crashes, what may cross."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager

import psutil
import pytest

from chongming_task import ConfigurationError, Controller, ProcessExecutor, TaskExecutionError, TaskTimeout
from chongming_task.testing import check_audit
from tests.integration import process_tasks as tasks
from tests.support.waiting import until

PATIENCE_SECONDS = 30.0
MANY_FILES = 1100  # select(2) ends at 1024


@pytest.fixture
def controller():
    with made() as controller:
        yield controller


@contextmanager
def made(**options):
    """A controller on processes; at the end its history is checked."""
    controller = Controller(executor=ProcessExecutor(**options))
    try:
        yield controller
        check_audit(controller._link.store)
    finally:
        controller.close()


def running(controller, target, *args, **options):
    """A record whose user code runs."""
    handle = controller.submit(target, args=args, **options)
    assert handle.wait_for("running", timeout=PATIENCE_SECONDS) == "running"
    return handle


def failure_of(controller, target, *args):
    """How a task fails."""
    handle = controller.submit(target, args=args)
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    return handle.failure


def written(path):
    """What a task wrote, once it did."""
    until(lambda: path.exists() and path.read_text(), f"{path} is written")
    return path.read_text()


# where it runs


def test_a_task_function_runs_in_a_process_that_is_used_again(controller):
    """By reference, through what decorates it; and the worker stays."""
    assert controller.submit(tasks.double, 21).result(PATIENCE_SECONDS) == 42
    pids = {controller.submit(tasks.pid_of_worker).result(PATIENCE_SECONDS) for _ in range(5)}
    assert os.getpid() not in pids
    assert len(pids) == 1


def test_the_snapshot_names_the_process(controller):
    """What `ps` shows."""
    handle = running(controller, tasks.spin)
    assert psutil.Process(handle.snapshot.pid).ppid() == os.getpid()
    handle.stop(graceful=False)


def test_a_worker_is_replaced_after_so_many_attempts():
    """For tasks that leak."""
    with made(max_attempts_per_worker=2) as controller:
        pids = [controller.submit(tasks.pid_of_worker).result(PATIENCE_SECONDS) for _ in range(4)]
    assert len(set(pids)) == 2


def test_a_task_finds_this_process_surroundings_as_they_are_now(controller, monkeypatch, tmp_path):
    """Environment and directory, although the worker is older, and although an earlier task changed them there."""
    controller.submit(tasks.surroundings).result(PATIENCE_SECONDS)
    monkeypatch.setenv("CHONGMING_TEST", "clean")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert controller.submit(tasks.surroundings).result(PATIENCE_SECONDS) == ["clean", str(tmp_path)]


# stops and limits


def test_an_uncooperative_task_is_dead_within_its_grace(controller, tmp_path):
    """STOPPED with the failure CANCELLED, nothing abandoned, and what it had started is gone as well."""
    handle = running(controller, tasks.say_and_spin, str(tmp_path / "pids"))
    processes = [psutil.Process(int(pid)) for pid in written(tmp_path / "pids").split()]
    began = time.monotonic()
    assert handle.stop(timeout=0.5)
    assert time.monotonic() - began < 0.5 + 1
    assert (handle.status, handle.failure.kind, handle.failure.exit_code) == ("stopped", "cancelled", -15)
    assert not handle.snapshot.abandoned
    assert not handle.running
    assert psutil.wait_procs(processes, timeout=3)[1] == []


def test_a_cooperative_task_cleans_up(controller, tmp_path):
    """It meets the stop at a checkpoint, at once, and is not killed."""
    handle = running(controller, tasks.clean_up_at_stop, str(tmp_path / "pid"))
    written(tmp_path / "pid")
    assert handle.stop(timeout=PATIENCE_SECONDS)
    assert handle.failure.message == "stopped at a checkpoint"
    assert (tmp_path / "pid.clean").exists()


def test_a_task_is_paused_and_goes_on(controller, tmp_path):
    """By its own checkpoint, in the other process."""
    handle = running(controller, tasks.clean_up_at_stop, str(tmp_path / "pid"))
    assert handle.pause(timeout=PATIENCE_SECONDS)
    handle.resume()
    assert handle.status == "running"
    assert handle.stop(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("target", "args", "kind"),
    [
        (tasks.overrun, (), "timeout_attempt"),
        (tasks.go_silent, (), "timeout_idle"),
        (tasks.never_begins, (tasks.SlowToLoad(1),), "timeout_start"),
    ],
    ids=["attempt", "idle", "start"],
)
def test_a_task_that_overruns_a_limit_is_killed(controller, target, args, kind):
    """The kind of the limit, not LOST: a process that is killed is known to be gone."""
    controller.submit(tasks.double, 1).result(PATIENCE_SECONDS)  # a warm worker: the limits are for the task
    handle = controller.submit(target, args=args)
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    assert handle.failure.kind == kind
    assert not handle.snapshot.abandoned
    with pytest.raises(TaskTimeout):
        handle.result()


def test_the_idle_limit_spares_who_passes_checkpoints(controller, tmp_path):
    """Heartbeats arrive: the task above lived for longer than its limit before it fell silent."""
    handle = controller.submit(tasks.go_silent)
    handle.wait(PATIENCE_SECONDS)
    assert handle.attempts[0].seconds > 0.8 + 0.4


def test_close_leaves_no_process_behind():
    """Neither the stuck one, nor the idle, nor the spare."""
    before = set(psutil.Process().children())
    with made() as controller:
        controller.submit(tasks.double, 1).result(PATIENCE_SECONDS)
        running(controller, tasks.spin)
        report = controller.close(timeout=0.2)
    assert len(report.stopped) == 1
    left = [child for child in psutil.Process().children() if child not in before]
    assert psutil.wait_procs(left, timeout=3)[1] == []


# crashes


@pytest.mark.parametrize(
    ("target", "args", "code", "said"),
    [
        (tasks.exit_at_once, (3,), 3, "exit code 3"),
        (tasks.exit_at_once, (0,), 0, "exit code 0"),
        (tasks.segfault, (), -11, "SIGSEGV"),
        (tasks.kill_yourself, (), -9, "SIGKILL"),
        (tasks.leave_a_fork_and_die, (), 9, "exit code 9"),
    ],
    ids=["os._exit(3)", "os._exit(0)", "segfault", "kill -9", "with a fork that lives on"],
)
def test_a_process_that_dies_half_way_is_told(controller, target, args, code, said):
    """Within a second, with its exit code or signal, and that its outcome is unknown."""
    controller.submit(tasks.double, 1).result(PATIENCE_SECONDS)
    handle = controller.submit(target, args=args)
    handle.wait_for("running", "failed", timeout=PATIENCE_SECONDS)
    began = time.monotonic()
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    assert time.monotonic() - began < 1
    failure = handle.failure
    assert (failure.kind, failure.exit_code, failure.retryable) == ("nonzero_exit", code, True)
    assert said in failure.message
    assert "half-way" in failure.message
    with pytest.raises(TaskExecutionError, match="half-way"):
        handle.result()


def test_a_process_that_is_killed_from_outside_is_told(controller):
    """As by the system when memory runs out."""
    handle = running(controller, tasks.spin)
    psutil.Process(handle.snapshot.pid).kill()
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    assert (handle.failure.kind, handle.failure.exit_code) == ("nonzero_exit", -9)


def test_a_task_that_spoils_the_line_does_not_hang(controller):
    """What it says can no longer be understood: its process is ended, and that is told."""
    assert failure_of(controller, tasks.write_into_the_line).kind == "nonzero_exit"
    assert controller.submit(tasks.double, 1).result(PATIENCE_SECONDS) == 2


def test_a_process_that_dies_before_the_task_began_is_told_apart(controller):
    """A retry is clean then."""
    failure = failure_of(controller, tasks.take, tasks.DiesOnArrival())
    assert (failure.kind, failure.exit_code) == ("nonzero_exit", 4)
    assert "before the task began" in failure.message


def test_a_crash_is_answered_by_a_retry(controller):
    """In a new process."""
    handle = controller.submit(tasks.crash_at_first)
    assert handle.result(PATIENCE_SECONDS) == 2
    assert [attempt.failure is None for attempt in handle.attempts] == [False, True]


def test_an_idle_worker_that_died_is_not_used(controller):
    """Nobody notices that the warm ones were killed."""
    pid = controller.submit(tasks.pid_of_worker).result(PATIENCE_SECONDS)
    idle = [child for child in psutil.Process().children() if "executors.child" in " ".join(child.cmdline())]
    assert pid in {child.pid for child in idle}
    for child in idle:
        child.kill()
    psutil.wait_procs(idle, timeout=PATIENCE_SECONDS)
    workers, dead = controller._executor._workers, {child.pid for child in idle}
    until(lambda: dead.isdisjoint(worker.pid for worker in list(workers)), "the dead are noticed")
    assert controller.submit(tasks.double, 2).result(PATIENCE_SECONDS) == 4


def test_the_policy_sees_exceptions_of_the_tasks_own(controller):
    """`give_up_on` holds in the other process; the exception itself stays there, its words come back."""
    handle = controller.submit(tasks.fail_for_good)
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    assert len(handle.attempts) == 1
    assert (handle.failure.kind, handle.failure.message) == ("exception", "no use (7)")
    assert handle.failure.exception_type.endswith("process_tasks.OwnError")


# what crosses


def test_results_larger_than_any_pipe_arrive(controller):
    """And the other way round."""
    size = 20_000_000
    assert controller.submit(tasks.big, size).result(PATIENCE_SECONDS) == "x" * size
    assert len(controller.submit(tasks.take, "y" * size).result(PATIENCE_SECONDS)) == size + 2


def test_submitting_a_large_argument_does_not_hold_up_the_engine(controller):
    """It is written while the process starts; the engine answers meanwhile."""
    handle = controller.submit(tasks.take, b"z" * 50_000_000)
    began = time.monotonic()
    assert controller.get(handle.id).status in ("queued", "starting", "running")
    assert not controller.submit(tasks.double, 1, start=False).running
    assert time.monotonic() - began < 1
    handle.stop(graceful=False)


def test_a_task_that_emits_much_blocks_nobody(controller):
    """The line is drained whether or not anybody listens."""
    assert controller.submit(tasks.flood, 1_000_000, 30).wait(PATIENCE_SECONDS) == "succeeded"


def test_emitting_what_cannot_cross_fails_at_that_line(controller):
    """Naming the word it was emitted under."""
    failure = failure_of(controller, tasks.emit_a_lock)
    assert failure.exception_type == "chongming_task.errors.ConfigurationError"
    assert "emit('lock', ...)" in failure.message


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((1, threading.Lock()), {}, "argument 2 of take"),
        ((), {"argument": threading.Lock()}, "argument 'argument' of take"),
    ],
    ids=["by position", "by name"],
)
def test_an_argument_that_cannot_cross_is_refused_by_name(args, kwargs, said):
    """At submission, with the way out."""
    executor = ProcessExecutor(spares=0)
    with pytest.raises(ConfigurationError, match=r"_thread\.lock") as refused:
        executor.check(tasks.take, args, kwargs)
    assert said in str(refused.value)
    assert 'executor="thread"' in str(refused.value)


def test_refusing_an_argument_creates_no_record(controller):
    """Whatever can be refused is refused before it exists."""
    with pytest.raises(ConfigurationError, match="argument 1 of take"):
        controller.submit(tasks.take, threading.Lock())
    assert sum(controller.counts().values()) == 0


def test_an_attempt_that_can_no_longer_cross_fails(controller):
    """An argument that has changed since it was checked."""
    blocker = running(controller, tasks.spin)
    argument = [1]
    handle = controller.submit(tasks.take, argument, start=False)
    argument.append(threading.Lock())
    handle.start()
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    assert "_thread.lock" in handle.failure.message
    blocker.stop(graceful=False)


def test_an_argument_that_exits_on_its_way_fails_the_attempt(controller):
    """Pickling runs a caller's code: SystemExit out of it must not take along who sends, or the record starts for
    ever."""

    class Leaving:
        leaves = False

        def __reduce__(self):
            if self.leaves:
                raise SystemExit("gone")
            return int, ()

    argument = Leaving()
    handle = controller.submit(tasks.double, argument, start=False)
    argument.leaves = True
    handle.start()
    assert handle.wait(PATIENCE_SECONDS) == "failed"
    assert "gone" in handle.failure.message


def test_a_worker_that_cannot_be_started_fails_the_attempt(controller, monkeypatch):
    """And may be answered by a retry; the engine goes on."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    failure = failure_of(controller, tasks.double, 1)
    assert (failure.exception_type, failure.retryable) == ("builtins.FileNotFoundError", True)
    monkeypatch.undo()
    assert controller.submit(tasks.double, 1).result(PATIENCE_SECONDS) == 2


def test_idle_workers_beyond_the_spares_are_let_go():
    """Many at once leave one behind."""
    with made(idle_seconds=0.1) as controller:
        handles = [running(controller, tasks.spin) for _ in range(3)]
        workers = controller._executor._workers
        assert len(workers) >= 3
        for handle in handles:
            handle.stop(graceful=False)
        for _ in range(3):
            controller.submit(tasks.double, 1).result(PATIENCE_SECONDS)
        until(lambda: len(workers) == 1, "one worker stays")


def test_no_descriptor_is_left_of_a_worker_that_died(controller):
    """Neither its line nor what waits for its end."""
    controller.submit(tasks.double, 1).result(PATIENCE_SECONDS)
    before = psutil.Process().num_fds()
    for _ in range(5):
        failure_of(controller, tasks.exit_at_once, 1)
    assert psutil.Process().num_fds() <= before + 4  # a worker and a spare may be on their way


def test_a_process_with_many_open_files_has_workers_too():
    """Beyond the 1024 descriptors that select knows."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY_FILES + 100:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY_FILES + 100), hard))
    opened = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while opened[-1] < MANY_FILES:
            opened.append(os.dup(opened[0]))
        with made() as controller:
            assert controller.submit(tasks.double, 1).result(PATIENCE_SECONDS) == 2
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
