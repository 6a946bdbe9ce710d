"""Worker processes and the process that made them: neither waits for the other at its end, neither outlives it long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 30.0
EXIT_SECONDS = 3.0

PARENT = """
import sys, threading
from chongming_task import Controller
from tests.integration import process_tasks as tasks
controller = Controller(executor="process")
handle = controller.submit(getattr(tasks, sys.argv[1]), args=tuple(sys.argv[2:]))
handle.wait_for("running", timeout=30)
print(handle.snapshot.pid, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def parent():
    """Starts a process with a controller that runs one task; gives it and the pids of all its workers."""
    started = []

    def start(target, *args):
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, target, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        worker = psutil.Process(int(process.stdout.readline()))
        return process, worker, psutil.Process(process.pid).children(recursive=True)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_interpreter_exits_beside_a_stuck_task(parent):
    """Without `close()`: within three seconds, and the worker is gone soon after."""
    process, _, family = parent("spin")
    began = time.monotonic()
    process.communicate("\n", timeout=PATIENCE_SECONDS)
    assert time.monotonic() - began < EXIT_SECONDS
    assert process.returncode == 0
    assert psutil.wait_procs(family, timeout=EXIT_SECONDS)[1] == []


def test_workers_notice_that_their_parent_was_killed(parent):
    """A busy loop in Python, and the spare: gone within seconds."""
    process, _, family = parent("spin")
    process.kill()
    assert psutil.wait_procs(family, timeout=EXIT_SECONDS + 2)[1] == []


def test_a_cooperative_task_cleans_up_when_its_parent_was_killed(parent, tmp_path):
    """It is told to stop, and gets a moment for it."""
    process, _, family = parent("clean_up_at_stop", str(tmp_path / "pid"))
    process.kill()
    assert psutil.wait_procs(family, timeout=EXIT_SECONDS + 2)[1] == []
    assert (tmp_path / "pid.clean").exists()


def test_ctrl_c_is_not_for_workers(parent):
    """A signal to the parent's group, as a terminal or a notebook sends it, leaves the task running."""
    process, worker, _ = parent("spin")
    assert os.getpgid(worker.pid) != os.getpgid(process.pid)
    assert worker.status() == psutil.STATUS_RUNNING


def test_a_worker_whose_line_a_fork_holds_open_notices_too():
    """Somebody else has the parent's end of the line: the worker watches its parent, too."""
    parent = subprocess.Popen([sys.executable, "-c", FORKED], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    fork = int(parent.stdout.readline())
    parent.wait(PATIENCE_SECONDS)
    began = time.monotonic()
    assert parent.stdout.read() == ""  # the workers have it open as well: it ends when the last of them has
    assert time.monotonic() - began < EXIT_SECONDS + 2
    assert psutil.pid_exists(fork)
    parent.stdout.close()
    os.kill(fork, signal.SIGKILL)


FORKED = """
import os, sys, time
from chongming_task import Controller
sys.path.insert(0, os.getcwd())
from tests.integration import process_tasks as tasks
handle = Controller(executor="process").submit(tasks.spin)
handle.wait_for("running", timeout=30)
fork = os.fork()
if fork == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(fork, flush=True)
os._exit(0)
"""

SCRIPT = """
from dataclasses import dataclass
from chongming_task import Controller, ConfigurationError, task

FACTOR = 2

@dataclass
class Pair:
    left: int
    right: int

class OwnError(Exception):
    pass

@task
def helper(number):
    return FACTOR * number

@task
def work(pair):
    return helper(pair.left) + helper(pair.right)

@task
def fail():
    raise OwnError("own")

def main(offset):
    with Controller(executor="process") as controller:
        print(controller.submit(work, Pair(1, 2)).result(30))
        print(controller.submit(lambda: 7 + offset).result(30))
        print(controller.submit(helper, args=(21,)).result(30))
        failed = controller.submit(fail)
        failed.wait(30)
        print(failed.failure.exception_type, failed.failure.message)

HIDDEN
try:
    main(1)
except ConfigurationError as error:
    print(error)
"""


def run_script(tmp_path, hidden="", failures=0):
    """What a script prints; it has no `if __name__ == "__main__"`. So many of its tasks fail, and are told."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("HIDDEN", hidden))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = done.stderr.splitlines()  # a failed task is told, and nothing else is
    assert len(told) == failures, done.stderr
    assert all(line.startswith("task 'fail' failed: __main__.OwnError: own") for line in told), done.stderr
    return done.stdout


def test_what_a_script_or_a_notebook_cell_defines_goes_by_value(tmp_path):
    """Functions, the tasks they call, classes of their arguments, lambdas: with cloudpickle, and no main guard."""
    pytest.importorskip("cloudpickle", reason="the extra `process` is not installed")
    assert run_script(tmp_path, failures=1).splitlines() == ["6", "8", "42", "__main__.OwnError own"]


def test_without_cloudpickle_the_error_says_what_to_install(tmp_path):
    """At submission, naming the function."""
    said = run_script(tmp_path, "import sys; sys.modules['cloudpickle'] = None")
    assert "the function work cannot go to another process" in said
    assert 'pip install "chongming-task[process]"' in said
    assert 'executor="thread"' in said
