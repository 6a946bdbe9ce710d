"""Widgets that the pump's thread touches: linked to a model of a task, and those of the launcher, on each kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kernels.front_end import FrontEnd, Message

pytestmark = [pytest.mark.notebook, pytest.mark.slow]

FOLLOW = """
import logging, threading
import ipywidgets, traitlets
from chongming_task import Controller
from chongming_task.notebook.launcher import Launcher
from chongming_task.notebook.task_model import TaskModel

controller = Controller()
go = threading.Event()

def half(ctx, rows: int = 2):
    ctx.progress(1, rows)
    while not go.wait(0.01):
        ctx.checkpoint()

handle = controller.submit(half)
model = TaskModel(handle)
bar = ipywidgets.FloatProgress(max=1)
link = traitlets.dlink((model, "progress"), (bar, "value"))
print(f"bar {bar.comm.comm_id}")
"""
LAUNCH = """
controller.register(half)
controller.register(dict, name="a dict")
launcher = Launcher(controller)
parts = launcher._choice, launcher._submit, launcher._fields, launcher._cards
print("parts " + " ".join(part.comm.comm_id for part in parts))
"""


def printed(front: FrontEnd, word: str) -> list[str]:
    """What a cell printed after that word."""
    for message in front.heard:
        text = message["content"].get("text", "")
        if message["msg_type"] == "stream" and text.startswith(word):
            return text.split()[1:]
    raise AssertionError(f"no cell printed {word}")


def sets(comm: str, trait: str, fits: Any) -> Any:
    """Whether a message tells a widget's views that a trait has such a value."""

    def told(message: Message) -> bool:
        content = message["content"]
        if message["msg_type"] != "comm_msg" or content["comm_id"] != comm:
            return False
        return fits(content["data"].get("state", {}).get(trait))

    return told


@pytest.fixture
def following(front: FrontEnd) -> Iterator[FrontEnd]:
    """With a task that goes on until it is told, and a bar that follows it."""
    front.heard.clear()
    front.run(FOLLOW)
    yield front
    front.run("go.set(); controller.wait_all(20); controller.close()")


def test_a_linked_widget_follows(following):
    """To the end, though no cell runs."""
    front = following
    (bar,) = printed(front, "bar")
    front.until(sets(bar, "value", lambda value: value == 0.5), "the bar is half full")
    front.run("go.set()")
    front.until(sets(bar, "value", lambda value: value == 1.0), "the bar is full")


def test_the_launcher_makes_forms_and_cards(following):
    """Of what is chosen after the cell has ended, by messages as a front end sends them."""
    front = following
    front.run(LAUNCH)
    choice, submit, fields, cards = printed(front, "parts")
    front.say(choice, {"method": "update", "state": {"index": 1}, "buffer_paths": []})
    one = sets(fields, "children", lambda children: children is not None and len(children) == 1)
    front.until(one, "the form is that of half")
    front.say(submit, {"method": "custom", "content": {"event": "click"}})
    front.until(sets(cards, "children", bool), "a card is there")
    front.run("assert len(controller.list_tasks()) == 2; launcher.close()")


def test_what_a_cell_displays_goes_to_its_task(front):
    """On every kernel's way of publishing; it finds its names, and nothing of it lands in a cell."""
    front.heard.clear()
    front.run("%load_ext chongming_task\nx = 3")
    front.run("%%task -o shown\nprint('printed')\ndisplay([x])\ny = x + 1\ny")
    front.run("print(f'result {shown.result(20)} {y} {[line.text for line in shown.output()]}')\n%tasks --close")
    assert " ".join(printed(front, "result")) == "4 4 ['printed', '[3]']"
    assert not any(message["msg_type"] == "display_data" for message in front.heard)
