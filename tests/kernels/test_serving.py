"""A cell that waits serves clicks itself, where the front end sends everything to the main shell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.kernels.front_end import FrontEnd, Message, is_idle, parent_of

pytestmark = [pytest.mark.notebook, pytest.mark.slow]

TASKS = """
import threading, time
from comm import create_comm
from chongming_task import Controller, Pipeline, as_completed

def crunch(ctx):
    while True:
        ctx.sleep(0.01)

if "controller" in globals():
    controller.close()
controller = Controller(max_parallel=4)
handle = controller.submit(crunch)
handle.wait_for("running", timeout=20)
pipeline = Pipeline("nightly")
pipeline.add(crunch)
run = pipeline.submit(controller)
panel = controller.panel()
heard = []
comm = create_comm(target_name="probe")
comm.on_msg(lambda message: heard.append(message["content"]["data"]))
print(f"panel {panel.comm.comm_id} comm {comm.comm_id} tasks {handle.id} {run['crunch'].id}")
"""
WAITS = {
    "handle.wait": "print('came', handle.wait())",
    "handle.wait_for": "print('came', handle.wait_for('stopped'))",
    "handle.result": "try: handle.result()\nexcept Exception as error: print('came', error)",
    "controller.wait_all": "controller.wait_all(); print('came', handle.status)",
    "as_completed": "print('came', [each.status for each in as_completed([handle])])",
    "short waits": "while not handle.done():\n  try: handle.wait(0.01)\n  except TimeoutError: pass\nprint('came')",
    "run.wait": "print('came', run.wait())",
    "await run": "print('came', await run)",
    "await handle": "try: await handle\nexcept Exception as error: print('came', error)",
    "await controller": "print('came', await controller.aio.wait(handle))",
}


def _says(text: str, message: Message) -> bool:
    return text in message["content"].get("text", "")


@dataclass(frozen=True, slots=True)
class Ready:
    """What the first cell made."""

    front: FrontEnd
    panel: str  # the ids of comms
    comm: str
    tasks: list[str]

    def stop_tasks(self) -> None:
        """Presses the button of all of them."""
        self.front.click(self.panel, {"id": "1", "verb": "stop", "ids": self.tasks, "args": {}})

    def wait(self, code: str = "handle.wait()") -> str:
        """Runs a cell that waits. Returns its id when it does."""
        cell = self.front.execute(f"print('waits')\n{code}")
        self.front.until(lambda message: parent_of(message) == cell and _says("waits", message), "the cell waits")
        return cell


@pytest.fixture
def ready(front: FrontEnd) -> Iterator[Ready]:
    """A kernel with a task and a run that go on until they are stopped, a panel, and a comm that remembers."""
    front.heard.clear()
    cell = front.execute(TASKS)
    words = front.printed("panel")["content"]["text"].split()
    assert front.reply(cell)["status"] == "ok"
    made = Ready(front, words[1], words[3], words[5:])
    yield made
    made.stop_tasks()  # a cell that still waits after a test that has failed


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_click_is_heard_while_a_cell_waits(ready, wait):
    """Without it the cell would wait for ever."""
    cell = ready.wait(wait)
    ready.stop_tasks()
    assert parent_of(ready.front.printed("came")) == cell
    assert ready.front.reply(cell)["status"] == "ok"


def test_cells_that_come_meanwhile_run_afterwards_in_order(ready):
    """None is lost, none runs within another one, and messages of comms between them are heard at once."""
    front = ready.front
    cell = ready.wait("handle.wait(); heard.append('over')")
    cells = []
    for number in range(5):
        cells.append(front.execute(f"heard.append('cell {number}')"))
        front.say(ready.comm, number)
    ready.stop_tasks()
    assert front.reply(cell)["status"] == "ok"
    assert all(front.reply(each)["status"] == "ok" for each in cells)
    expected = [*range(5), "over", *(f"cell {number}" for number in range(5))]
    front.run(f"assert heard == {expected}, heard")


def test_messages_of_comms_keep_their_order(ready):
    """Those that came while the kernel was busy with something else are heard before those that come in the wait."""
    front = ready.front
    busy = front.execute("print('busy'); time.sleep(0.5)")
    front.printed("busy")
    for number in range(10):
        front.say(ready.comm, number)
    nothing = front.execute("None")
    cell = ready.wait("handle.wait(); print(f'heard {heard}')")
    front.say(ready.comm, 10)
    ready.stop_tasks()
    assert front.printed("heard")["content"]["text"].strip() == f"heard {list(range(11))}"
    assert [front.reply(each)["status"] for each in (busy, nothing, cell)] == ["ok"] * 3


def test_the_cell_is_the_current_one_after_a_click(ready):
    """What it prints is its own, what the comm's callback prints is not, and the kernel is busy until it ends."""
    front = ready.front
    front.run("comm.on_msg(lambda message: print('callback'))")
    cell = ready.wait("handle.wait(); print('after')")
    front.heard.clear()
    said = front.say(ready.comm, "x")
    assert parent_of(front.printed("callback")) == said
    front.until(lambda message: parent_of(message) == cell and message["msg_type"] == "status", "it is busy again")
    assert (front.statuses(said), front.statuses(cell)) == (["busy", "idle"], ["busy"])
    ready.stop_tasks()
    assert parent_of(front.printed("after")) == cell
    front.reply(cell)
    assert front.statuses(cell).count("idle") == 1
    assert front.statuses()[-1] == "idle"


def test_an_interrupt_ends_the_wait_and_nothing_else(ready):
    """The click before it counts, the cells after it run, and an idle kernel minds no interrupt."""
    front = ready.front
    cell = ready.wait("run.wait()")
    said = front.say(ready.comm, "before")
    front.until(lambda message: parent_of(message) == said and is_idle(message), "it was heard")
    front.interrupt()
    reply = front.reply(cell)
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    front.interrupt()  # nobody waits
    front.run("assert heard == ['before'], heard")
    front.interrupt()
    ready.stop_tasks()
    front.run("assert handle.wait(20) == 'stopped'")


def test_an_interrupt_that_raises_nothing_ends_no_wait(ready):
    """Whoever handles it in another way hears of it, and the wait goes on."""
    front = ready.front
    handler = "import signal\nbefore = signal.signal(signal.SIGINT, lambda *args: print('noted'))"
    cell = ready.wait(f"{handler}\nprint('ready')\nprint(f'came {{handle.wait()}}')\n_ = signal.signal(2, before)")
    front.printed("ready")
    front.interrupt()
    front.printed("noted")
    ready.stop_tasks()
    front.printed("came stopped")
    assert front.reply(cell)["status"] == "ok"


def test_a_callback_that_waits_is_waited_for(ready):
    """Clicks wait meanwhile: a callback is not run within another one."""
    front = ready.front
    front.run("comm.on_msg(lambda message: (heard.append('in'), run.stop(), run.wait(), heard.append('out')))")
    cell = ready.wait("handle.wait(); print(f'heard {heard}')")
    front.say(ready.comm, 1)
    front.say(ready.comm, 2)
    ready.stop_tasks()
    assert front.printed("heard")["content"]["text"].strip() == "heard ['in', 'out', 'in', 'out']"
    assert front.reply(cell)["status"] == "ok"


def test_a_callback_that_fails_fails_alone(ready):
    """The wait goes on, and the next click is heard."""
    front = ready.front
    front.run("comm.on_msg(lambda message: 1 / 0)")
    cell = ready.wait("handle.wait(); print('came')")
    front.say(ready.comm, 1)
    ready.stop_tasks()
    front.printed("came")
    assert front.reply(cell)["status"] == "ok"


def test_a_page_that_is_reloaded_gets_its_answers(ready):
    """What it asks of the kernel and of its comms before it shows widgets again."""
    front = ready.front
    cell = ready.wait("handle.wait()")
    assert front.reply(front.client.kernel_info())["status"] == "ok"
    assert {ready.panel, ready.comm} <= set(front.reply(front.client.comm_info())["comms"])
    assert front.statuses(cell)[-1] == "busy"
    ready.stop_tasks()
    assert front.reply(cell)["status"] == "ok"


def test_a_kernel_that_does_not_wait_hears_after_the_cell(ready):
    """Nothing is changed where nobody waits: the click has its turn, before the next cell."""
    front = ready.front
    cell = ready.wait("time.sleep(0.5); print(f'slept {heard}')")
    front.say(ready.comm, 1)
    after = front.execute("print(f'then {heard}')")
    assert front.printed("slept")["content"]["text"].strip() == "slept []"
    assert front.printed("then")["content"]["text"].strip() == "then [1]"
    assert [front.reply(each)["status"] for each in (cell, after)] == ["ok", "ok"]


def test_a_cell_runs_for_the_views_until_it_ends(ready):
    """Messages of comms that are handled within it neither end it nor begin one."""
    front = ready.front
    front.run("from chongming_task.notebook.shell import SHELL; idle = []")
    front.run("comm.on_msg(lambda message: heard.append(SHELL.busy))")
    cell = ready.wait("handle.wait(); print(f'busy {SHELL.busy} {heard}')")
    front.say(ready.comm, 1)
    front.say(ready.comm, 2)
    ready.stop_tasks()
    assert front.printed("busy")["content"]["text"].strip() == "busy True [True, True]"
    assert front.reply(cell)["status"] == "ok"
    front.run("threading.Thread(target=lambda: (time.sleep(0.3), idle.append(SHELL.idle_since))).start()")
    front.execute("time.sleep(0.6)")
    front.run("assert idle == [None], idle")


def test_a_panel_speaks_from_the_thread_of_its_pump(ready):
    """Whatever the kernel wants to know of the cell that a message belongs to."""
    front = ready.front
    front.click(ready.panel, {"id": "1", "verb": "hello"})

    def is_answer(message: Message) -> bool:
        content = message["content"]
        return content.get("comm_id") == ready.panel and content["data"].get("content", {}).get("kind") == "reset"

    front.until(is_answer, "all rows are sent")
