"""What a saved notebook with a panel of many tasks holds, and what it becomes when it is converted: with real tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(180)]

TASKS = 100_000
PASSWORD = "geheim%21"
CELL = (
    f"""
import os
from chongming_task import Controller
from chongming_task.stores.open import open_store
from chongming_task.core.ports import Write
from chongming_task.core.states import TaskStatus
from chongming_task.testing.contract_records import AT, a_record

store = open_store(os.environ.get("WHERE", "runs.db"))
names = ["<script>alert(1)</script>", "parse " + "x" * 150, "导入数据"]
tasks = int(os.environ.get("TASKS", {TASKS}))
for start in range(0, tasks, 10_000):
    store.commit([
        Write(a_record(f"019a-{{n:08d}}", name=names[n % 3], status=TaskStatus.STOPPED, ended_at=AT), None)
        for n in range(start, min(start + 10_000, tasks))
    ])
store.close()
""",
    """
import warnings
warnings.simplefilter("ignore")
attached = Controller.attach(os.environ.get("WHERE", "runs.db"))
attached
""",
    """
attached.close()
""",
)
VIEW = "application/vnd.jupyter.widget-view+json"


class Table(HTMLParser):
    """The rows of the tables in a page, and its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.text = ""
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1].append("".join(self._cell))
            self._cell = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._cell is not None:
            self._cell.append(data)


def nbconvert(folder: Path, *options: str, **environment: str) -> None:
    """As somebody types it."""
    command = [sys.executable, "-m", "nbconvert", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr


def write(folder: Path) -> Path:
    """The notebook, not run yet."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in CELL]
    path = folder / "many.ipynb"
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run, and saved with the state of its widgets."""
    path = write(tmp_path_factory.mktemp("saved"))
    nbconvert(path.parent, "--to", "notebook", "--execute", "--inplace", path.name)
    return path


def shown(path: Path) -> dict[str, Any]:
    """What the cell with the panel keeps."""
    notebook = nbformat.read(path, as_version=4)
    (data,) = [each.data for each in notebook.cells[1].outputs if "data" in each]
    found: dict[str, Any] = data
    return found


def test_the_file_stays_small(executed):
    """However many tasks: the outputs take a few kilobytes; the state is bounded, and most of it is the view's code."""
    data, notebook = shown(executed), json.loads(executed.read_text(encoding="utf-8"))
    assert len(json.dumps(data)) < 30_000
    states = notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    panel = states[data[VIEW]["model_id"]]["state"]
    assert sum(len(block["rows"]) for block in panel["saved"]["blocks"]) == 200
    assert panel["saved"]["behind"] == TASKS - 200
    assert len(json.dumps(panel["saved"])) < 80_000
    assert len(json.dumps({name: each for name, each in panel.items() if not name.startswith("_")})) < 80_000
    assert executed.stat().st_size < 400_000
    del notebook["metadata"]["widgets"]
    print(f"\n{executed.stat().st_size:,} bytes with the widgets' state, {len(json.dumps(notebook)):,} without")


@pytest.mark.parametrize("template", ["lab", "classic", "basic"])
def test_a_page_shows_the_table(executed, template):
    """As JupyterLab saves a notebook, without the state of its widgets: every text as text."""
    notebook = nbformat.read(executed, as_version=4)
    del notebook.metadata["widgets"]
    path = executed.with_name(f"plain-{template}.ipynb")
    nbformat.write(notebook, path)
    assert path.stat().st_size < 30_000
    nbconvert(path.parent, "--to", "html", "--template", template, path.name)
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    table = Table()
    table.feed(page[page.index("runs.db: 100,000 tasks, 100,000 stopped") :])
    assert table.rows[0] == ["status", "name", "progress", "try", "time"]
    assert len(table.rows) == 61
    assert {row[1][:8] for row in table.rows[1:]} == {"<script>", "parse xx", "导入数据"}
    assert "and 99,940 more" in table.text


def test_a_page_that_is_made_in_one_go_shows_the_table_when_no_state_is_stored(tmp_path):
    """Else nbconvert leaves it to a script from the network to draw the panel."""
    path = write(tmp_path)
    stateless = "--ExecutePreprocessor.store_widget_state=False"
    nbconvert(tmp_path, "--execute", "--to", "html", stateless, path.name, TASKS="300")
    assert "<td>导入数据</td>" in path.with_suffix(".html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["markdown", "rst", "latex", "script"])
def test_other_formats_say_how_it_stood(executed, kind):
    """In a table or in lines of text; a script holds the code only."""
    nbconvert(executed.parent, "--to", kind, executed.name)
    (made,) = [each for each in executed.parent.glob("many.*") if each.suffix in {".md", ".rst", ".tex", ".py"}]
    text = made.read_text(encoding="utf-8")
    made.unlink()
    assert ("100,000 stopped" in text) == (kind != "script")


@pytest.mark.postgres
def test_no_password_is_saved(tmp_path, postgres_dsn):
    """Of a DSN that came from the environment, not a trace is in the file, state and all."""
    path = write(tmp_path)
    where = postgres_dsn.replace("postgres@", f"postgres:{PASSWORD}@")
    nbconvert(tmp_path, "--to", "notebook", "--execute", "--inplace", path.name, WHERE=where, TASKS="300")
    text = path.read_text(encoding="utf-8")
    assert "300 stopped" in text
    assert "geheim" not in text
