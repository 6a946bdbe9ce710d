"""A cell as a task: what it reads, and what the notebook gets of it. `notebook/cell_task.py`, on a real controller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chongming_task import Controller, RetryPolicy, TaskHandle, current_context
from chongming_task.api.signature import shape_of
from chongming_task.api.task import TaskFunction, TaskSpec
from chongming_task.core.policies import TaskPolicy
from chongming_task.errors import ConfigurationError
from chongming_task.notebook.cell_code import compile_cell
from chongming_task.notebook.cell_task import CellResults, CellTask

Submit = Callable[..., TaskHandle[Any]]


@pytest.fixture
def controller() -> Iterator[Controller]:
    controller = Controller(echo=False)
    yield controller
    controller.close()


@pytest.fixture
def notebook() -> dict[str, Any]:
    """The names of a notebook; `gate` is what cells wait at."""
    return {"x": 1, "rows": [1, 2], "gate": threading.Event(), "there": threading.Event()}


@pytest.fixture
def submit(controller, notebook) -> Submit:
    """Runs a cell on the notebook."""

    def submit(source: str, attempts: int = 1, **options: Any) -> TaskHandle[Any]:
        function = CellTask(compile_cell(source, "<cell>"), notebook)
        policy = TaskPolicy(RetryPolicy(max_attempts=attempts, backoff="none"))
        spec = TaskSpec("cell", function, policy, shape=shape_of(function), results=CellResults())
        return controller.submit(TaskFunction(function, spec), **options)

    return submit


HOLD = "there.set()\nassert gate.wait(20)\n"


def test_what_it_assigns_shows_up_when_it_succeeds(submit, notebook):
    """And not before; its value is the result, its output the task's own."""
    handle = submit(f"y = x + 1\nimport math\ndef twice(v): return 2 * v\nprint(y)\n{HOLD}twice(y)")
    assert notebook["there"].wait(20)
    assert set(notebook) == {"x", "rows", "gate", "there"}
    notebook["gate"].set()
    assert handle.result(20) == 4
    assert (notebook["y"], notebook["math"].pi > 3, notebook["twice"](5)) == (2, True, 10)
    assert "ctx" not in notebook
    assert not [name for name in notebook if name.startswith("__")]
    assert [line.text for line in handle.output()] == ["2"]


@pytest.mark.parametrize("end", ["1 / 0", "raise SystemExit", "ctx.checkpoint()"])
def test_a_cell_that_fails_or_is_stopped_leaves_the_notebook_as_it_was(submit, notebook, end):
    """Whatever it had assigned or deleted by then."""
    before = dict(notebook)
    handle = submit(f"y = 5\nx = 6\ndel rows\n{HOLD}{end}")
    assert notebook["there"].wait(20)
    if end == "ctx.checkpoint()":
        handle.stop(wait=False)
    notebook["gate"].set()
    assert handle.wait(20) in ("failed", "stopped")
    assert notebook == before


@pytest.mark.parametrize("before", ["", "import asyncio\nawait asyncio.sleep(0)\n"], ids=["plain", "awaiting"])
def test_a_cell_that_was_told_to_stop_hands_nothing_over(submit, notebook, before):
    """Also where it came to its end without another look."""
    handle = submit(f"{before}y = 5\n{HOLD}")
    assert notebook["there"].wait(20)
    handle.stop(wait=False)
    notebook["gate"].set()
    assert handle.wait(20) == "stopped"
    assert "y" not in notebook


@pytest.mark.abandons_threads
def test_a_cell_that_was_given_up_hands_nothing_over(submit, notebook):
    """Its record says lost: what its thread does later must not appear in the notebook."""
    handle = submit(f"y = 5\n{HOLD}")
    assert notebook["there"].wait(20)
    handle.stop(graceful=False)
    assert handle.wait(20) == "lost"
    worker = next(each for each in threading.enumerate() if each.name.startswith("chongming-worker"))
    notebook["gate"].set()
    handle._controller.close()
    worker.join(20)
    assert not worker.is_alive()
    assert "y" not in notebook


def test_it_reads_the_names_as_they_were_when_it_was_submitted(submit, notebook):
    """Later cells that bind a name anew do not reach it; an object that both have is one object."""
    handle = submit(f"{HOLD}rows.append(3)\nx", start=False)
    notebook["x"] = 100
    handle.start()
    assert notebook["there"].wait(20)
    notebook["x"] = 200
    notebook["gate"].set()
    assert handle.result(20) == 1
    assert notebook["x"] == 200
    assert notebook["rows"] == [1, 2, 3]


def test_every_attempt_begins_with_the_same_names(submit, notebook):
    """What a failed one assigned is gone."""
    notebook["seen"] = []
    handle = submit("seen.append(x)\nx += 1\nif ctx.attempt < 3: raise OSError\nx", attempts=3)
    assert handle.result(20) == 2
    assert notebook["seen"] == [1, 1, 1]
    assert notebook["x"] == 2


def test_a_name_that_the_notebook_assigned_meanwhile_is_replaced_and_that_is_told(submit, notebook):
    """In the task's output: the last to finish wins, and nobody has to guess."""
    handle = submit(f"x = 5\ny = 6\n{HOLD}")
    assert notebook["there"].wait(20)
    notebook["x"] = 100
    notebook["gate"].set()
    handle.result(20)
    assert (notebook["x"], notebook["y"]) == (5, 6)
    (line,) = handle.output()
    assert line.text.endswith("assigned in the notebook while this cell ran, and replaced by what the cell assigned: x")


def test_what_it_deletes_is_gone(submit, notebook):
    """Unless the notebook bound it anew."""
    notebook["old"] = 1
    handle = submit(f"del rows, old\n{HOLD}")
    assert notebook["there"].wait(20)
    notebook["old"] = 2
    notebook["gate"].set()
    handle.result(20)
    assert "rows" not in notebook
    assert notebook["old"] == 2


def test_two_cells_at_once_do_not_see_each_other(submit, notebook):
    """Both use the same names for what they are in the middle of."""
    first = submit("for i in range(2000):\n    a = i\n    assert a == i\nleft = 'first', i")
    second = submit("for i in range(3000, 5000):\n    a = i\n    assert a == i\nright = 'second', i")
    first.result(20)
    second.result(20)
    assert (notebook["left"], notebook["right"]) == (("first", 1999), ("second", 4999))


def test_a_loop_can_be_paused_and_stopped(submit, notebook):
    """Though the cell never heard of checkpoints."""
    handle = submit("there.set()\nn = 0\nwhile True:\n    n += 1")
    assert notebook["there"].wait(20)
    assert handle.pause(timeout=20)
    assert handle.resume()
    assert handle.stop(timeout=20)
    assert "n" not in notebook


def test_a_cell_may_await(submit, notebook):
    """On a loop of its own; it stops where it awaits."""
    handle = submit("import asyncio\ny = await asyncio.sleep(0, x + 1)\ny")
    assert handle.result(20) == 2
    assert notebook["y"] == 2
    endless = submit("z = 1\nthere.set()\nawait asyncio.Event().wait()")
    assert notebook["there"].wait(20)
    assert endless.stop(timeout=20)
    assert "z" not in notebook


def test_the_context_is_ctx_in_it(submit):
    """And what it calls finds it as any task does; progress and artifacts are the task's."""
    handle = submit("ctx.progress(1, 2, 'parts')\n(ctx.task_id, current().task_id)", start=False)
    handle._live.work.target._before["current"] = current_context
    handle.start()
    assert handle.result(20) == [handle.id, handle.id]
    assert (handle.progress.done, handle.progress.total, handle.progress.unit) == (1, 2, "parts")


def test_any_value_is_a_result(submit, notebook):
    """JSON is stored as it is; what is none stays in this process, and its repr is stored."""
    assert submit("{'score': 0.5}").result(20) == {"score": 0.5}
    handle = submit("gate")
    assert handle.result(20) is notebook["gate"]
    assert "Event" in str(handle.snapshot.outcome)


def test_a_cell_that_succeeded_keeps_no_names_alive(submit, notebook):
    """A notebook can let go of its data; one that is reset and run again begins with what is there then."""
    handle = submit("y = x + 1")
    handle.result(20)
    assert handle._live.work.target._before is None
    notebook["x"] = 10
    handle.reset(confirm=True)
    handle.start()
    handle.result(20)
    assert notebook["y"] == 11


def test_a_cell_cannot_go_to_another_process():
    """Told at submission, by name, and with what to do."""
    function = CellTask(compile_cell("1", "<cell>"), {})
    told = r"the notebook's own names, which no other process has.*thread"
    with Controller(executor="process", echo=False) as controller, pytest.raises(ConfigurationError, match=told):
        controller.submit(function)
