"""The launcher in a real JupyterLab: fill in, submit, watch; wrong values; keyboard, screen readers, both themes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, Notebook

pytestmark = [pytest.mark.browser, pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = """async () => (await axe.run('.cmt-launcher', { resultTypes: ['violations'] })).violations
  .filter(({ impact }) => impact === 'serious' || impact === 'critical')
  .map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + node.failureSummary)])"""
IMAGES = Path(__file__).parents[2] / "docs" / "images"
PICTURES = "CHONGMING_PICTURES"  # set it, and the pictures of the docs are taken anew

TASKS = """
import datetime
from pathlib import Path
from typing import Literal

from chongming_task import Controller, RetryPolicy, TaskContext, Timeout, task
from chongming_task.notebook.launcher import Launcher

@task(name="train model", retry=RetryPolicy(max_attempts=3), timeout=Timeout(per_attempt=3600))
def train(
    ctx: TaskContext,
    data: Path,
    model: Literal["linear", "forest", "boosted"] = "forest",
    rows: int = 2_000,
    rate: float = 0.1,
    until: datetime.date = datetime.date(2026, 11, 30),
    columns: list[str] | None = None,
    shuffle: bool = True,
) -> dict:
    '''Train a model on a table, and say how well it does.

    Args:
        data: The table, as Parquet or CSV.
        model: What sort of model.
        rows: How many rows to train on.
        rate: How fast it learns.
        until: Leave out what came later.
        columns: Which columns to look at.
        shuffle: Take the rows in any order.
    '''
    for _ in ctx.track(range(rows), unit="rows"):
        ctx.sleep(0.01)
    given = {"data": str(data), "model": model, "rows": rows, "until": str(until)}
    return {**given, "columns": columns, "shuffle": shuffle}

@task
def hello() -> str:
    '''Say hello.'''
    return "hello"

controller = Controller(name="models")
controller.register_all(train, hello)
launcher = Launcher(controller, task="train model", language=LANGUAGE)
launcher
"""
WAIT = "import threading\ngo = threading.Event()\ngo.wait(40)"


def _open(lab: Lab, page: Page, folder: Path, *cells: str) -> Notebook:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "launcher.ipynb"
    nbformat.write(book, path)
    return lab.open(page, path)


@pytest.fixture
def notebook(lab: Lab, page: Page, tmp_path: Path) -> Iterator[Notebook]:
    """A notebook that shows a launcher."""
    opened = _open(lab, page, tmp_path, TASKS.replace("LANGUAGE", "'en'"))
    opened.run_all()
    assert opened.errors() == []
    yield opened
    opened.close()


def launcher(page: Page) -> Locator:
    return page.locator(".cmt-launcher")


def use_theme(page: Page, theme: str) -> None:
    """Through the settings menu."""
    page.locator(".lm-MenuBar-item", has_text="Settings").first.click()
    page.locator(".lm-Menu-item", has_text="Theme").first.click()
    page.locator(".lm-Menu [data-command='apputils:change-theme']", has_text=f"JupyterLab {theme}").first.click()
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", f"JupyterLab {theme}")


def faults(page: Page) -> list[Any]:
    """What axe finds in the launcher that is serious or worse."""
    if page.evaluate("typeof axe") == "undefined":
        page.add_script_tag(content=AXE.read_text())
    found: list[Any] = page.evaluate(FAULTS)
    return found


def outcome(notebook: Notebook, number: int) -> Any:
    """The result of the task that was submitted at that place."""
    return notebook.kernel_eval(f"controller.list_tasks()[{number}].outcome")


def test_a_filled_form_becomes_a_task_with_a_card(notebook, artifacts):
    """What was typed reaches the function; the card below follows and steers the task."""
    form = launcher(notebook.page)
    expect(form).to_contain_text("Train a model on a table, and say how well it does.")
    form.get_by_label("data").fill("data/orders.parquet")
    form.get_by_label("model").select_option("boosted")
    form.get_by_label("rows").fill("30")
    form.get_by_label("columns").fill('["price"]')
    form.get_by_label("shuffle").uncheck()
    form.get_by_role("button", name="Submit").click()
    card = form.get_by_test_id("cmt-card")
    expect(card).to_contain_text("train model")
    expect(card).to_contain_text("done", timeout=20_000)
    assert outcome(notebook, 0) == {
        "data": "data/orders.parquet",
        "model": "boosted",
        "rows": 30,
        "until": "2026-11-30",
        "columns": ["price"],
        "shuffle": False,
    }
    form.get_by_label("rows").fill("100000")
    form.get_by_role("button", name=re.compile("Options")).click()
    form.get_by_label("name", exact=True).fill("the long one")
    form.get_by_label("time limit").fill("600")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_test_id("cmt-card")).to_have_count(2)
    expect(form.get_by_test_id("cmt-card").first).to_contain_text("the long one")
    assert notebook.kernel_eval("[t.max_attempts for t in controller.list_tasks()]") == [3, 3]
    notebook.kernel.run("[controller.stop(t.task_id) for t in controller.list_tasks() if not t.is_terminal]")
    expect(form.get_by_test_id("cmt-card").first).to_contain_text("stopped")
    assert notebook.errors() == []


def test_a_wrong_value_is_marked_at_its_field(notebook, artifacts):
    """With what to do; the first one has the focus, and the mark goes when it is right."""
    form = launcher(notebook.page)
    form.get_by_label("rows").fill("many")
    form.get_by_role("button", name=re.compile("Options")).click()
    form.get_by_label("attempts").fill("0")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_role("alert")).to_have_text(
        [
            "✕ fill this in",
            "✕ write a whole number, such as 10",
            "✕ write 1 or more",
            "3 values are missing or wrong: see above.",
        ]
    )
    expect(form.get_by_label("data")).to_be_focused()
    notebook.screenshot(artifacts / "launcher-wrong.png")
    notebook.page.keyboard.type("a.csv")
    form.get_by_label("rows").fill("5")
    expect(form.get_by_role("alert").filter(has_text="whole number")).to_have_count(0)
    expect(form.get_by_role("alert").filter(has_text="fill this in")).to_have_count(0)
    assert notebook.kernel_eval("len(controller.list_tasks())") == 0


def test_another_task_and_a_new_one_can_be_chosen(notebook):
    """The form changes with it; a task that is registered later is found."""
    form = launcher(notebook.page)
    form.get_by_label("Task").select_option("hello")
    expect(form).to_contain_text("Say hello. It takes no arguments.")
    expect(form.get_by_label("data")).to_have_count(0)
    notebook.kernel.run("controller.register(lambda who='you': who, name='greet')")
    form.get_by_role("button", name="Refresh").click()
    form.get_by_label("Task").select_option("greet")
    form.get_by_label("who").fill("<b>me</b>")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_test_id("cmt-card")).to_contain_text("greet")
    assert outcome(notebook, 0) == "<b>me</b>"


def test_it_works_by_keyboard(notebook):
    """From the first field to the button; JupyterLab does not take the keys for its own."""
    form = launcher(notebook.page)
    form.get_by_label("data").focus()
    notebook.page.keyboard.type("dd.csv")
    for label in ("model", "rows"):
        notebook.page.keyboard.press("Tab")
        expect(form.get_by_label(label)).to_be_focused()
    notebook.page.keyboard.press("Control+a")
    notebook.page.keyboard.type("3")
    form.get_by_role("button", name="Submit").focus()
    notebook.page.keyboard.press("Enter")
    expect(form.get_by_test_id("cmt-card")).to_contain_text("done")
    assert outcome(notebook, 0)["data"] == "dd.csv"
    assert notebook.cells.count() == 1


def test_it_submits_while_a_cell_runs(lab, page, tmp_path):
    """On kernels that hear clicks meanwhile; on others when the cell has ended."""
    notebook = _open(lab, page, tmp_path, TASKS.replace("LANGUAGE", "'en'"), WAIT)
    notebook.run_all(wait=False)
    notebook.wait_running(1)
    form = launcher(page)
    form.get_by_label("Task").select_option("hello")
    if notebook.kernel.subshell is None:
        notebook.kernel.run("go.set()")
    expect(form).to_contain_text("Say hello.", timeout=20_000)
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_test_id("cmt-card")).to_contain_text("done")
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    assert notebook.errors() == []
    notebook.close()


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci")
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_both_themes(notebook, artifacts, theme):
    """axe finds no serious fault, whatever is open; and pictures to look at."""
    page, form = notebook.page, launcher(notebook.page)
    use_theme(page, theme)
    assert faults(page) == []
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_role("alert").first).to_be_visible()
    form.get_by_role("button", name=re.compile("Options")).click()
    form.get_by_label("attempts").wait_for()
    assert faults(page) == []
    page.set_viewport_size({"width": 1180, "height": 1500})
    form.screenshot(path=artifacts / f"launcher-{theme.lower()}-wrong.png", animations="disabled")
    form.get_by_label("data").fill("data/orders.parquet")
    form.get_by_role("button", name=re.compile("Options")).click()
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_test_id("cmt-card")).to_contain_text("running")
    assert faults(page) == []
    page.mouse.move(0, 0)
    picture = artifacts / f"launcher-{theme.lower()}.png"
    page.evaluate("document.activeElement.blur()")
    form.screenshot(path=picture, animations="disabled")
    if os.environ.get(PICTURES):
        shutil.copy(picture, IMAGES / picture.name)
    notebook.kernel.run("controller.close()")


@pytest.mark.parametrize("width", [420, 1180])
def test_it_speaks_chinese_and_fits(lab, page, tmp_path, artifacts, width):
    """Our words; a parameter's name and the docstring are the task's own. In a narrow layout as well."""
    notebook = _open(lab, page, tmp_path, TASKS.replace("LANGUAGE", "'zh'"))
    notebook.run_all()
    form = launcher(page)
    form.get_by_role("button", name="提交").click()
    expect(form.get_by_role("alert")).to_have_text(["✕ 请填写此项", "有 1 处缺失或错误：见上。"])
    form.get_by_role("button", name=re.compile("选项")).click()
    expect(form.get_by_label("尝试次数")).to_have_value("3")
    notebook.kernel.run(f"launcher.layout.width = '{min(width, 700)}px'")
    page.set_viewport_size({"width": 1180, "height": 1500})
    expect(form).to_have_css("width", f"{min(width, 700)}px")
    assert form.evaluate("e => e.scrollWidth <= e.clientWidth")
    form.screenshot(path=artifacts / f"launcher-zh-{width}.png", animations="disabled")
    notebook.close()
