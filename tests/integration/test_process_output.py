"""What a task in a process writes comes back to its record, as from a thread."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from chongming_task import Controller, RetryPolicy
from chongming_task.testing import check_audit


def talk(ctx):
    """Write in every way there is."""
    print("to standard output")
    sys.stderr.write("to standard error\n")
    ctx.log.info("to the log: %s", 3)
    print("without an end", end="")


def fill(lines):
    """Write more than any record keeps."""
    for _ in range(lines):
        print("x" * 100)


def fail_once(ctx):
    """Write, and fail the first time."""
    print(f"attempt {ctx.attempt}")
    if ctx.attempt == 1:
        raise ValueError("once")


def die(ctx):
    """Write, wait until the line has gone out, and be killed."""
    print("last words", flush=True)
    ctx.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def controller():
    """One that runs processes; its store is audited at the end."""
    with Controller(executor="process") as controller:
        yield controller
        controller.wait_all(timeout=30)
        check_audit(controller._link.store, settled=True)


def test_every_stream_comes_back_in_order(controller):
    """Both streams and the log, and the line that has no end, all before the result."""
    handle = controller.submit(talk)
    handle.result(timeout=30)
    assert [(line.stream, line.text) for line in handle.output()] == [
        ("stdout", "to standard output"),
        ("stderr", "to standard error"),
        ("log", "to the log: 3"),
        ("stdout", "without an end"),
    ]


def test_a_flood_is_bounded_and_counted(controller):
    """Twenty megabytes: the newest lines are kept, and the numbers tell how many there were."""
    handle = controller.submit(fill, 200_000)
    handle.wait(timeout=60)
    lines = handle.output()
    assert len(lines) <= 10_000
    assert lines[-1].seq == 200_000


def test_attempts_keep_their_lines_apart(controller):
    """Each line names the attempt that wrote it."""
    handle = controller.submit(fail_once, retry=RetryPolicy(max_attempts=2, backoff="none"))
    handle.result(timeout=30)
    assert [(line.attempt, line.text) for line in handle.output()] == [(1, "attempt 1"), (2, "attempt 2")]


def test_the_last_words_of_a_killed_process_are_kept(controller):
    """What had been relayed before the kill is there."""
    handle = controller.submit(die)
    assert handle.wait(timeout=30) == "failed"
    assert [line.text for line in handle.output()] == ["last words"]
    assert handle.failure.exit_code == -signal.SIGKILL
