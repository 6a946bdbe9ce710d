"""The card of a handle, and what is shown as the last line of a cell."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import nbformat
import pytest

from chongming_task import Controller, task
from chongming_task.errors import ConfigurationError, UnknownTask
from chongming_task.notebook.card import Card
from tests.notebook.test_feed import Browser
from tests.notebook.test_panel import Wire
from tests.support.notebooks import Ran

WIDGET = "application/vnd.jupyter.widget-view+json"


@task
def until_told(ctx: Any, end: threading.Event) -> str:
    """Reaches a checkpoint every few milliseconds."""
    while not end.wait(0.005):
        ctx.checkpoint()
    return "told"


def table_of(wire: Wire) -> Browser:
    """What a browser knows by the messages so far."""
    browser = Browser()
    for message in [m for m in wire.messages if m["kind"] in {"reset", "patch"}]:
        browser.take(message)
    return browser


def test_it_follows_one_task_and_steers_no_other(monkeypatch):
    """Others of the same controller are neither told nor touched."""
    end = threading.Event()
    with Controller(max_parallel=2) as controller:
        mine, other = (controller.submit(until_told, args=(end,), name=name) for name in ("mine", "other"))
        card = mine.card()
        wire = Wire(card, monkeypatch)
        wire.say({"id": "v-0", "verb": "hello"})
        wire.wait_for(lambda message: message["kind"] == "reset")
        wire.say({"id": "v-1", "verb": "stop", "ids": [mine.id, other.id], "args": {}})
        told = {each["task"]: (each["ok"], each["error"]) for each in wire.answer("v-1")["results"]}
        assert told == {mine.id: (True, None), other.id: (False, "no such task in this view")}
        wire.wait_for(lambda message: message.get("counts") == {"stopped": 1})
        assert [row["name"] for row in table_of(wire).rows.values()] == ["mine"]
        assert controller.transitions(mine.id)[-2].actor == "user:card"
        assert not other.done()
        end.set()
        card.close()


def test_a_card_of_a_task_that_was_pruned_shows_how_it_ended(monkeypatch, tmp_path: Path):
    """Also where it is looked at only afterwards; nothing is wrong with the store."""
    path = str(tmp_path / "runs.db")
    with Controller(path) as controller, Controller.attach(path) as attached:
        handle = controller.submit(pow, 2, 3)
        handle.wait(timeout=20)
        card = Card(attached, handle.id)
        assert controller.prune(keep_terminal=0) == 1
        wire = Wire(card, monkeypatch)
        wire.say({"id": "v-0", "verb": "hello"})
        told = wire.wait_for(lambda message: message["kind"] == "reset")
        assert (told["counts"], told["trouble"]) == ({"succeeded": 1}, None)
        card.close()


def test_a_card_needs_a_task_and_a_language():
    """Both are said when they are missing."""
    with Controller() as controller:
        with pytest.raises(UnknownTask):
            Card(controller, "no-such-task")
        handle = controller.submit(pow, 2, 3)
        with pytest.raises(ConfigurationError, match="language"):
            handle.card(language="de")


def test_outside_a_kernel_there_is_nothing_to_show():
    """The repr stands, and no widget is made."""
    with Controller() as controller:
        assert controller._repr_mimebundle_() is None
        assert controller.submit(pow, 2, 3)._repr_mimebundle_() is None


CELLS = (
    "from chongming_task import Controller\ncontroller = Controller(name='etl')\ncontroller",
    "handle = controller.submit(pow, 2, 3, name='power')\nhandle.wait()\nhandle",
    "handle  # again",
    "[handle]",
)
PROBE = """
import json
from ipywidgets.widgets.widget import _instances
kinds = [type(widget).__name__ for widget in _instances.values()]
print(json.dumps(sorted(kind for kind in kinds if kind in {"Card", "Panel"})))
_ = controller.close()
"""


@pytest.mark.notebook
@pytest.mark.slow
def test_the_last_line_of_a_cell(tmp_path: Path):
    """A controller shows its panel, a handle its card, the same one each time; in a list they are told as text."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbformat.write(book, tmp_path / "shown.ipynb")
    ran = Ran(tmp_path / "shown.ipynb", tmp_path, PROBE)
    ran.went_well()
    shown = [cell.outputs[-1].data for cell in ran.code_cells[:4]]
    assert [WIDGET in data for data in shown] == [True, True, True, False]
    assert shown[1][WIDGET]["model_id"] == shown[2][WIDGET]["model_id"]
    assert "etl: no tasks yet" in shown[0]["text/plain"]
    assert "power" in shown[1]["text/html"]
    assert shown[3]["text/plain"].startswith("[<TaskHandle 'power' succeeded")
    assert ran.left == ["Card", "Panel"]


def test_a_closed_controller_on_a_file_is_told_as_text(tmp_path: Path, monkeypatch):
    """There is nothing left to follow: its repr stands, and no traceback."""
    monkeypatch.setattr("chongming_task.api.display._in_a_kernel", lambda: True)
    controller = Controller(tmp_path / "runs.db")
    controller.close()
    assert controller._repr_mimebundle_() is None
    assert "closed" in repr(controller)
