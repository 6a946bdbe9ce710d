"""What tasks on real threads print and log goes to their own output, and nobody else's goes there."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import resource
import subprocess
import sys
import threading
import traceback

import nbformat
import pytest
from nbclient import NotebookClient

from chongming_task import Controller, RetryPolicy, TaskLogLine, TaskOutput, run_task, task
from chongming_task.core.output import OUTPUT_LINES

PATIENCE = 20
SCRIPT = """
from chongming_task import Controller

def work():
    print("hello")
    raise ValueError("boom")

with Controller() as controller:
    controller.submit(work)
with Controller() as controller:
    handle = controller.submit(work)
    handle.wait()
    kept = [line.text for line in handle.output()]
print(kept)
"""


def texts(handle, stream=None) -> list[str]:
    """What a task wrote, in order."""
    return [line.text for line in handle.output() if stream in (None, line.stream)]


def test_two_tasks_that_print_at_once_do_not_mix(controller, capsys):
    """Nor does what others print meanwhile end up with them, or the other way round."""
    meet = threading.Barrier(3, timeout=PATIENCE)

    def chat(name):
        meet.wait()
        for number in range(500):
            print(name, number)
            print(name, number, file=sys.stderr)

    handles = {name: controller.submit(chat, name) for name in ("ann", "bob")}
    meet.wait()
    for number in range(500):
        print("main", number)
    for name, handle in handles.items():
        handle.wait(PATIENCE)
        expected = [f"{name} {number}" for number in range(500)]
        assert texts(handle, "stdout") == texts(handle, "stderr") == expected
        assert [line.seq for line in handle.output()] == list(range(1, 1001))
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [f"main {number}" for number in range(500)]
    assert captured.err == ""


def test_threads_that_a_task_starts(controller, capsys):
    """They are no tasks, unless they run in the task's context; then they may even outlive it."""
    leave = threading.Event()

    def late():
        leave.wait(PATIENCE)
        print("late")

    def parent():
        outside = threading.Thread(target=contextvars.Context().run, args=(print, "outside"))
        inside = threading.Thread(target=contextvars.copy_context().run, args=(print, "inside"))
        threads.append(threading.Thread(target=contextvars.copy_context().run, args=(late,)))
        for thread in (outside, inside, *threads):
            thread.start()
        outside.join(), inside.join()

    threads: list[threading.Thread] = []
    handle = controller.submit(parent)
    handle.result(PATIENCE)
    assert texts(handle) == ["inside"]
    assert capsys.readouterr().out == "outside\n"
    leave.set()
    threads[0].join()
    assert texts(handle)[-1] == "late"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_task_that_prints_a_hundred_megabytes(controller):
    """It neither stalls nor fills the memory; the newest lines are kept and the others counted."""
    lines, text = 1_000_000, "x" * 99

    def flood():
        for _ in range(lines):
            print(text)
        print("end")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handle = controller.submit(flood)
    handle.wait_for("running", timeout=PATIENCE)
    assert controller.submit(pow, 2, 3).result(PATIENCE) == 8
    handle.result(timeout=150)
    kept = handle.output()
    assert len(kept) <= OUTPUT_LINES
    assert (kept[-1].text, kept[-1].seq) == ("end", lines + 1)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 60_000  # kilobytes


def test_log_records_go_to_the_task_and_on(controller, caplog):
    """With the task's fields for every handler; ctx.log at every level, others as logging lets them through."""

    def work(ctx):
        ctx.log.debug("details")
        ctx.log.info("loaded", rows=3)
        logging.getLogger("lib").debug("unheard")
        logging.getLogger("lib").warning("careful")

    with caplog.at_level(logging.INFO):
        handle = controller.submit(work)
        handle.result(PATIENCE)
    assert [(line.stream, line.level, line.text) for line in handle.output()] == [
        ("log", 10, "details"),
        ("log", 20, "loaded rows=3"),
        ("log", 30, "lib: careful"),
    ]
    records = [record for record in caplog.records if record.name in ("lib", "chongming_task.task")]
    assert [record.getMessage() for record in records] == ["loaded rows=3", "careful"]
    assert {(record.task_id, record.task_name, record.attempt) for record in records} == {(handle.id, "work", 1)}


def test_logging_that_nobody_set_up_does_not_reach_the_console(controller, capsys, monkeypatch):
    """Where there are no handlers, logging prints warnings on stderr: here the task has heard them."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    handle = controller.submit(lambda: logging.getLogger("lib").warning("careful"))
    handle.result(PATIENCE)
    assert texts(handle) == ["lib: careful"]
    assert capsys.readouterr() == ("", "")


def test_tracebacks(controller):
    """They are written to stderr."""

    def work():
        try:
            raise ValueError("why")
        except ValueError:
            traceback.print_exc()

    handle = controller.submit(work)
    handle.result(PATIENCE)
    errors = texts(handle, "stderr")
    assert (errors[0], errors[-1]) == ("Traceback (most recent call last):", "ValueError: why")


def test_attempts_keep_their_numbers(controller):
    """Across retries the lines are counted on; the last ones of each attempt are there."""

    def flaky(ctx):
        print("try", ctx.attempt, end="")
        if ctx.attempt < 3:
            raise OSError("again")

    handle = controller.submit(flaky, retry=RetryPolicy(max_attempts=3, backoff="none"))
    handle.result(PATIENCE)
    lines = [(line.attempt, line.seq, line.text) for line in handle.output()]
    assert lines == [(1, 1, "try 1"), (2, 2, "try 2"), (3, 3, "try 3")]


def test_the_last_lines_are_there_when_the_end_is(controller):
    """Whoever waits for the end and then looks into the store misses nothing."""
    for number in range(200):
        handle = controller.submit(print, number, end="")
        handle.wait(PATIENCE)
        assert [line.text for line in controller._link.store.output(handle.id)] == [str(number)]


def test_subscribers_hear_of_it(controller):
    """Every line is an event."""
    heard: list[tuple[type, str]] = []
    done = threading.Event()

    def listen(event):
        heard.append((type(event), event.text))
        if event.text == "end":
            done.set()

    def work(ctx):
        print("begin")
        ctx.log.info("middle")
        print("end")

    with controller.watch(listen, types=(TaskOutput, TaskLogLine)):
        controller.submit(work).wait(PATIENCE)
        assert done.wait(PATIENCE)
    assert heard == [(TaskOutput, "begin"), (TaskLogLine, "middle"), (TaskOutput, "end")]


def test_an_echo_goes_both_ways(make_controller, capsys):
    """By the controller, by the task; inline tasks echo by themselves, and so does run_task."""
    handle = make_controller(echo=True).submit(print, "one")
    handle.wait(PATIENCE)
    quiet = make_controller()
    loud, silent = quiet.submit(task(echo=True)(print), "two"), quiet.submit(print, "no")
    loud.wait(PATIENCE), silent.wait(PATIENCE)
    inline = make_controller(executor="inline").submit(print, "three")
    hushed = make_controller(executor="inline", echo=False).submit(print, "no")
    last = run_task(print, "four")
    assert [texts(each) for each in (handle, loud, silent, inline, hushed)] == [
        ["one"],
        ["two"],
        ["no"],
        ["three"],
        ["no"],
    ]
    assert [line.text for line in last.output()] == ["four"]
    assert capsys.readouterr().out.split() == ["one", "two", "three", "four"]


def test_a_script_hears_of_its_tasks():
    """Without a word of its own about output, logging or results: prints are shown, and so is a failure."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "hello\nhello\n['hello']\n")
    assert done.stderr.count("task 'work' failed: ValueError: boom (for more: handle.failure.traceback") == 2


def test_capture_can_be_left_off(make_controller, capsys):
    """Then nothing is touched, also while another controller captures."""
    plain, other = make_controller(capture=False), make_controller()
    before = plain.submit(task(echo=False)(print), "plain")
    before.wait(PATIENCE)
    after = other.submit(print, "captured")
    after.wait(PATIENCE)
    assert (texts(before), texts(after)) == ([], ["captured"])
    assert capsys.readouterr().out == "plain\n"


def test_coroutines_print_too(controller):
    """Also from the tasks they make."""

    async def child(name):
        await asyncio.sleep(0)
        print(name)

    async def parent():
        await asyncio.gather(child("one"), child("two"))
        await asyncio.to_thread(print, "three")

    handle = controller.submit(parent)
    handle.result(PATIENCE)
    assert texts(handle) == ["one", "two", "three"]


def test_a_stop_reaches_an_awaiting_task(controller):
    """Within its grace, through the whole machine."""
    came = threading.Event()

    async def wait_for_ever():
        came.set()
        await asyncio.Event().wait()

    handle = controller.submit(wait_for_ever)
    assert came.wait(PATIENCE)
    assert handle.stop(timeout=PATIENCE)
    assert handle.status == "stopped"


def test_output_stays_readable_after_the_end():
    """Of the controller."""
    with Controller() as controller:
        handle = controller.submit(print, "kept")
    assert [line.text for line in handle.output()] == ["kept"]


CELLS = [
    """
import logging, sys, threading, warnings
from chongming_task import Controller
controller, printed, go_on = Controller(), threading.Event(), threading.Event()
def chatter(ctx):
    for part in ("first", "second"):
        print(part, "of the task")
        print("error of the task", file=sys.stderr)
        logging.getLogger("lib").warning("log of the task")
        ctx.log.warning("own log of the task")
        warnings.warn("old-fashioned")
        printed.set()
        go_on.wait(20)
handle = controller.submit(chatter)
assert printed.wait(20)
print("cell one")
""",
    """
go_on.set()
handle.wait(20)
print("cell two")
""",
    """
async def inner():
    print("on a loop")
    return 7
inline = Controller(executor="inline")
print(inline.submit(inner).result(20))
""",
    """
import json
kept = [str(output.bundle) for outputs in get_ipython().history_manager.outputs.values() for output in outputs]
assert any("cell two" in each for each in kept) and not any("of the task" in each for each in kept)
print(json.dumps([line.text for line in handle.output()]))
controller.close(), inline.close()
""",
]


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_in_a_kernel_no_cell_gets_a_tasks_output(tmp_path):
    """Neither the cell that started it nor the one that runs; inline tasks echo into theirs, coroutines too."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [[output.get("text", str(output)) for output in cell.outputs] for cell in notebook.cells]
    assert shown[:2] == [["cell one\n"], ["cell two\n"]]
    assert "".join(shown[2]) == "on a loop\n7\n"
    told = "".join(shown[3])
    assert [told.count(word) for word in ("of the task", "first", "second", "lib: log")] == [8, 1, 1, 2]
    assert "UserWarning: old-fashioned" in told


def test_echoed_text_is_kept_once():
    """Also where somebody has covered `write`, as IPython does while a cell runs, and calls what was there."""
    seen: list[str] = []
    with Controller(echo=True) as controller:
        found = sys.stdout.write
        sys.stdout.write = lambda text: (seen.append(text), found(text))[1]
        handle = controller.submit(print, "task")
        handle.wait()
        sys.stdout.write = found
        assert [line.text for line in handle.output()] == ["task"]
    assert seen == ["task", "\n"]
