"""``%load_ext chongming_task`` in a real kernel: what each cell of a session shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from chongming_task import SqliteTaskStore
from chongming_task.core.query import TaskQuery

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(120)]

SESSION = {
    "load": "%load_ext chongming_task",
    "given": "x = 3",
    "cell": "%%task -n first -o first\n\nimport time\nprint('hello')\ny = x + 1\ndisplay([y])\ny * 2",
    "handle": "_ is first, first.result(20), y, [line.text for line in first.output()], first.name",
    "failing": "%%task\n\n# Make trouble\na = 1\nb = a / 0\n",
    "failed": "failing = _\nfailing.wait(20)\nprint(failing.name)\nprint(failing.failure.traceback)\n'b' in globals()",
    "raises": "failing.result()",
    "syntax": "%%task\n\nz = 1\nq = (\n",
    "return": "%%task\nreturn 5",
    "unknown": "%%task --nope\n1",
    "both": "%%task --retry 1 --attempts 2\n1",
    "time": "%%task -t soon\n1",
    "backoff": "%%task --backoff sometimes\n1",
    "process": "%%task -e process\n1",
    "nobody": "%%task -c nobody\n1",
    "no panel": "%tasks x",
    "nested": "%%task\n%%time\n1",
    "nothing": "%%task\n\n",
    "help": "%task --help",
    "tasks help": "%tasks --help",
    "options": "%%task -n 'all {x}' -t 1.5m --retry 2 --backoff 0.5 --tags a,b c --tags d -p 7 --idle 5\nctx.attempt",
    "optioned": """all_3 = _
policy = all_3._live.policy
import json
print(json.dumps([all_3.result(20), all_3.name, sorted(all_3.snapshot.tags), all_3.snapshot.priority,
    all_3.snapshot.max_attempts, policy.timeout.per_attempt, policy.timeout.idle, policy.retry.delay(1, 0.5)]))""",
    "inline": "%%task -e inline\nprint('here')\nw = x\nobject()",
    "inlined": "_.status.value, w, _.snapshot.executor",
    "magic": "%%task\nfound = !echo from the shell\nfound[0]",
    "shell": "_.result(20)",
    "mine": "from chongming_task import Controller\nmine = Controller(name='mine')",
    "to mine": "%%task -c mine\n1",
    "in mine": "_.wait(20)\nlen(mine.list_tasks())",
    "panel": "%tasks mine",
    "use": "%tasks mine --use",
    "to mine again": "%%task\n2",
    "in mine again": "_.wait(20)\nlen(mine.list_tasks())",
    "panel of the default": "%tasks",
    "own": "%tasks -e thread -o own",
    "owned": "own.name, len(own.list_tasks())",
    "late": "%config ChongmingTask.max_parallel = 2",
    "running": "import threading\ngate = threading.Event()",
    "long": "%%task -e thread\ngate.wait(60)\nlong = True",
    "unload": "%unload_ext chongming_task",
    "gone": "%%task\n1",
    "load again": "%load_ext chongming_task",
    "long goes on": "%tasks -e thread -o same\nsame is own",
    "reload": "%reload_ext chongming_task\n%reload_ext chongming_task",
    "late again": "%config ChongmingTask.max_parallel = 2\n%config ChongmingTask.name = 'later'",
    "goes on": "still = own.list_tasks()[-1].status.value\ngate.set()\nown.wait_all(20)\nstill, long",
    "close": "%tasks --close",
    "new": "%tasks -o new\nnew is own, len(new.list_tasks())",
    "in new": "%%task --attempts 1 -o last\n1",
    "limits": "last.result(20), new._submissions._concurrency.max_parallel",
    "end": "%tasks --close\nmine.close()",
}


class Shown:
    """What the cells of the session show, by their names here."""

    def __init__(self, folder: Path) -> None:
        cells = [nbformat.v4.new_code_cell(source) for source in SESSION.values()]
        notebook = nbformat.v4.new_notebook(cells=cells)
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=60, kernel_name="python3", resources=place, allow_errors=True).execute()
        self._cells = dict(zip(SESSION, notebook.cells, strict=True))

    def outputs(self, name: str) -> list[Any]:
        outputs: list[Any] = self._cells[name].outputs
        return outputs

    def value(self, name: str) -> str:
        """The text of the value under it."""
        found = [output.data["text/plain"] for output in self.outputs(name) if "data" in output]
        assert len(found) == 1, self.outputs(name)
        return str(found[0])

    def printed(self, name: str, stream: str = "stdout") -> str:
        return "".join(output.text for output in self.outputs(name) if output.get("name") == stream)

    def traceback(self, name: str) -> str:
        (error,) = [output for output in self.outputs(name) if output.output_type == "error"]
        return re.sub("\x1b\\[[0-9;]*m", "", "\n".join(error.traceback))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The session, run once."""
    return Shown(tmp_path_factory.mktemp("session"))


def test_a_cell_runs_as_a_task(shown):
    """Its handle is the cell's value; names, output and what it displays go where they belong."""
    assert "first" in shown.value("cell")
    assert len(shown.outputs("cell")) == 1
    assert shown.value("handle") == "(True, 8, 4, ['hello', '[4]'], 'first')"


def test_a_failing_cell_is_shown_with_its_lines(shown):
    """By the number of the cell, and the line as one sees it there; the notebook has none of its names."""
    printed = shown.printed("failed")
    assert printed.startswith("In[5] Make trouble\n")
    assert 'File "<cell In[5]>", line 5, in <module>\n    b = a / 0' in printed
    assert shown.value("failed") == "False"
    assert re.search(r"<cell In\[5\]>:5\n.*----> 5 b = a / 0", shown.traceback("raises"), re.DOTALL)


def test_a_syntax_error_is_told_at_once(shown):
    """With its line and place, and no stack above; no task was made."""
    told = shown.traceback("syntax")
    assert re.search(r'<cell In\[8\]>(:|", line )4\b', told)
    assert "q = (" in told
    assert told.rstrip().endswith("SyntaxError: '(' was never closed")
    assert "magics.py" not in told
    assert "'return' outside function" in shown.traceback("return")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("unknown", "unrecognized arguments: --nope"),
        ("both", "give either --retry or --attempts: --retry 2 is --attempts 3"),
        ("time", "'soon' is no length of time; write seconds, or 30s, 5m, 2h"),
        ("backoff", 'backoff must be a Backoff or one of "exponential", "fixed", "none"'),
        ("process", "'process' cannot run a cell: it works on the notebook's own names"),
        ("nobody", "nobody is no controller; make one: nobody = Controller()"),
        ("no panel", "x has no panel; write %tasks my_controller"),
        ("nested", "%%time under %%task would run on the notebook itself"),
        ("nothing", "the cell has no code under %%task"),
        ("gone", "Cell magic `%%task` not found"),
    ],
)
def test_a_wrong_line_says_what_to_do(shown, cell, said):
    """In one line, as other magics do."""
    assert said in shown.printed(cell, "stderr")


def test_help_lists_the_options(shown):
    """In the cell, where a notebook's reader looks."""
    assert shown.value("help").startswith("%task [-n NAME]")
    assert "--timeout TIME" in shown.value("help")
    assert shown.value("tasks help").startswith("%tasks [-u]")


def test_the_options_reach_the_task(shown):
    """Also variables of the notebook in the line."""
    assert json.loads(shown.printed("optioned")) == [1, "all 3", ["a", "b", "c", "d"], 7, 3, 90.0, 5.0, 0.5]


def test_an_inline_cell_runs_here(shown):
    """The cell waits, and shows what it prints."""
    assert shown.printed("inline") == "here\n"
    assert shown.value("inlined") == "('succeeded', 3, 'inline')"


def test_magics_work_in_it(shown):
    """As in any cell."""
    assert shown.value("shell") == "'from the shell'"


def test_it_goes_to_the_controller_that_is_named_or_chosen(shown):
    """And %tasks shows that one."""
    assert shown.value("in mine") == "1"
    assert shown.value("in mine again") == "2"
    for panel in ("panel", "use"):
        assert shown.value(panel).startswith("mine: 1 task")
    assert shown.value("panel of the default").startswith("mine: ")
    assert shown.value("owned") == "('notebook', 4)"


def test_a_change_that_comes_too_late_is_told(shown):
    """Once; it counts for the next controller."""
    assert shown.printed("late", "stderr").strip() == (
        "the session's controller exists already: max_parallel counts after %tasks --close"
    )
    assert shown.printed("late again", "stderr").strip() == (
        "the session's controller exists already: name counts after %tasks --close"
    )
    assert shown.value("limits") == "(1, 2)"


def test_unloading_and_loading_again_leave_tasks_alone(shown):
    """Twice; the session's controller is the same after it, until it is closed."""
    assert shown.value("long goes on") == "True"
    assert shown.outputs("reload") == []
    assert shown.value("goes on") == "('running', True)"
    assert "CloseReport(stopped=()" in shown.value("close")
    assert shown.value("new") == "(False, 0)"


# What `c.ChongmingTask` of a configuration file says, and what it does; in a kernel that reads the file.
CONFIG = """
c = get_config()
c.ChongmingTask.store = "$CELLS_DB"
c.ChongmingTask.name = "mine"
c.ChongmingTask.max_parallel = 2
c.ChongmingTask.attempts = 2
c.ChongmingTask.timeout = 60
c.ChongmingTask.tags = ["cells"]
c.InteractiveShellApp.extensions = ["chongming_task"]
"""
CONFIGURED = """
import json
policy = handle._live.policy
handle.result(20)
magics = get_ipython().magics_manager.registry["ChongmingTask"]
print(json.dumps([handle.snapshot.max_attempts, sorted(handle.snapshot.tags), policy.timeout.per_attempt,
    controller.name, type(controller._link.store).__name__, magics.store]))
%tasks --close
"""


def test_a_configuration_file_says_what_cells_get(tmp_path, monkeypatch):
    """The extension is loaded by it, and the store is where the environment says."""
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(CONFIG)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("CELLS_DB", str(tmp_path / "cells.db"))
    sources = ["%%task -o handle\n1", "%tasks -o controller", CONFIGURED.strip()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources=place).execute()
    said = json.loads(notebook.cells[2].outputs[0].text)
    assert said == [2, ["cells"], 60.0, "mine", "SqliteTaskStore", "$CELLS_DB"]
    assert (tmp_path / "cells.db").exists()


def test_the_end_of_the_kernel_stops_what_runs(tmp_path, monkeypatch):
    """And its record says so: nobody has to find out that it was lost."""
    monkeypatch.setenv("CELLS_DB", str(tmp_path / "cells.db"))
    sources = [
        "%load_ext chongming_task\n%config ChongmingTask.store = '$CELLS_DB'",
        "%%task -o endless\nwhile True:\n    pass",
        "endless.wait_for('running', timeout=20)\nNone",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources=place).execute()
    store = SqliteTaskStore(tmp_path / "cells.db", read_only=True)
    (task,) = store.query(TaskQuery())
    store.close()
    assert task.status == "stopped"
