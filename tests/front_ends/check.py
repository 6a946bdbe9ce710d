"""Checks the panel in front ends that the project does not depend on: marimo and Voila, in a real Chromium.

    .venv/bin/python -m tests.front_ends.check                  both, in an environment made for it in /tmp
    .venv/bin/python -m tests.front_ends.check marimo --folder /tmp/front-ends

The first run installs them, which takes about two minutes. In each front end a page shows two panels: that of a
controller, and that of what is attached to its store. The walk pauses, resumes and stops tasks in both, opens a drawer,
and believes neither panel: the tasks themselves write down what happens to them. Pictures go to the folder.

Run it before a release, and when `notebook/view.py` or the wire changes. CI does not.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import textwrap
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, Page, expect

from tests.support.chromium import browser
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
PATIENCE_MS = 30_000

TASKS = """
import warnings

from chongming_task import Controller, TaskCancelled, task

warnings.simplefilter("ignore")


def note(line):
    with open("said.txt", "a") as file:
        print(line, file=file)


@task
def spin(ctx):
    done = 0
    try:
        while True:
            ctx.sleep(0.05)
            done += 1
            ctx.progress(done, 2000, "rows")
            if done == 1:
                print(ctx.name, "spins")
    except TaskCancelled:
        note(f"{ctx.name} was stopped")
        raise


controller = Controller("runs.db", name="own", max_parallel=4)
handles = [controller.submit(spin, args=(), name=f"spin {number}") for number in range(4)]
for each in handles:
    each.wait_for("running", timeout=20)
"""
OWN = "controller"  # as the last line of a cell it shows its panel
ATTACHED = 'controller.attach("runs.db", name="attached")'


def marimo_file(folder: Path) -> Path:
    """The page as marimo reads it: a module of cells."""
    cells = [("", TASKS, "return (controller,)"), ("controller", OWN, "return"), ("controller", ATTACHED, "return")]
    parts = ["import marimo", "app = marimo.App()"]
    for names, source, end in cells:
        parts.append(f"@app.cell\ndef _({names}):\n{textwrap.indent(source.strip(), '    ')}\n    {end}")
    path = folder / "page.py"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def notebook_file(folder: Path) -> Path:
    """The page as a notebook."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source.strip()) for source in (TASKS, OWN, ATTACHED)]
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "page.ipynb"
    nbformat.write(notebook, path)
    return path


def marimo_command(programs: Path, folder: Path, port: int) -> list[str]:
    """Serves the page."""
    place = ["--host", "127.0.0.1", "--port", str(port)]
    return [str(programs / "marimo"), "run", str(marimo_file(folder)), "--headless", "--no-token", *place]


def voila_command(programs: Path, folder: Path, port: int) -> list[str]:
    """Serves the page."""
    return [
        str(programs / "voila"),
        str(notebook_file(folder)),
        "--no-browser",
        f"--port={port}",
        "--Voila.ip=127.0.0.1",
    ]


FRONT_ENDS: dict[str, Callable[[Path, Path, int], list[str]]] = {"marimo": marimo_command, "voila": voila_command}


def environment(folder: Path) -> Path:
    """An environment with the front ends and this package; gives the folder of its programs."""
    programs = folder / "env" / "bin"
    if not (programs / "voila").exists():
        print("installing marimo and Voila ...", flush=True)
        venv.create(folder / "env", with_pip=True)
        wanted = ["marimo", "voila", "ipykernel", "-e", f"{ROOT}[notebook]"]
        subprocess.run([programs / "python", "-m", "pip", "install", "-q", *wanted], check=True)
    return programs


@contextmanager
def served(command: list[str], folder: Path, port: int) -> Iterator[str]:
    """A front end that runs; gives the address of its page."""
    place = os.environ | {"PATH": f"{Path(command[0]).parent}:{os.environ['PATH']}", "IPYTHONDIR": str(folder)}
    address = f"http://127.0.0.1:{port}/"
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(command, cwd=folder, env=place, stdout=log, stderr=log, start_new_session=True) as server,
    ):
        try:
            until(lambda: answers(address) or server.poll() is not None, "the server answers", 60)
            assert server.poll() is None, (folder / "server.log").read_text(encoding="utf-8")
            yield address
        finally:
            server.terminate()
            server.wait(20)


def answers(address: str) -> bool:
    """Whether somebody is there; a page may take until its cells have run."""
    try:
        with socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].strip("/"))), timeout=1):
            return True
    except OSError:
        return False


def walk(page: Page, said: Path) -> Iterator[str]:
    """What works, step by step."""
    own, attached = (page.get_by_test_id("cmt-panel").filter(has_text=name) for name in ("own", "attached"))
    for name, panel in (("own", own), ("attached", attached)):
        expect(panel).to_have_attribute("data-life", "live", timeout=PATIENCE_MS)
        expect(row(panel, 3)).to_have_attribute("data-status", "running", timeout=PATIENCE_MS)
        yield f"the panel ({name}) is live"
    for number, (name, panel) in enumerate((("own", own), ("attached", attached))):
        other = attached if panel is own else own
        for verb, status in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
            row(panel, number).get_by_test_id(f"cmt-act-{verb}").click()
            for each in (panel, other):
                expect(row(each, number)).to_have_attribute("data-status", status, timeout=PATIENCE_MS)
            yield f"{verb} in the panel ({name}) is carried out, and both panels show it"
        until(lambda number=number: f"spin {number} was stopped" in text_of(said), "the task was told")  # type: ignore[misc]
        yield f"the task that was stopped there ({name}) has heard it"
    row(attached, 2).get_by_test_id("cmt-open").click()
    attached.get_by_role("tab", name="Output").click()
    expect(attached.get_by_text("spin 2 spins")).to_be_visible(timeout=PATIENCE_MS)
    yield "a drawer shows the output of its task"


def row(panel: Locator, number: int) -> Locator:
    """The row of a task."""
    return panel.get_by_test_id("cmt-row").filter(has_text=f"spin {number}")


def text_of(path: Path) -> str:
    """What a file holds; nothing when it is not there."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def check(name: str, programs: Path, folder: Path) -> bool:
    """Walk through a front end, and print what works; whether all of it does."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in (*folder.glob("runs.db*"), *folder.glob("said.txt")):
        left.unlink()
    port = free_port()
    print(f"{name} {version_of(name, programs)}", flush=True)
    with served(FRONT_ENDS[name](programs, folder, port), folder, port) as address, browser() as chromium:
        page = chromium.new_page(viewport={"width": 1100, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address, timeout=120_000)
        try:
            for step in walk(page, folder / "said.txt"):
                print(f"  {step}", flush=True)
        except AssertionError as error:
            print(f"  FAILED: {error}")
            return False
        finally:
            page.screenshot(path=str(folder / f"{name}.png"), full_page=True)
        print(f"  errors of the page: {errors or 'none'}; a picture: {folder / f'{name}.png'}")
        return not errors


def version_of(name: str, programs: Path) -> str:
    """As installed."""
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    return subprocess.run([programs / "python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def free_port() -> int:
    """Of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: Any = probe.getsockname()[1]
        return int(found)


def main() -> int:
    """0 when all works."""
    parser = argparse.ArgumentParser(description="Check the panel in marimo and Voila.")
    parser.add_argument("names", nargs="*", choices=[*FRONT_ENDS, []], help="which; default: all")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/chongming-front-ends"))
    options = parser.parse_args()
    folder = options.folder.absolute()
    programs = environment(folder)
    worked = [check(name, programs, folder / name) for name in options.names or FRONT_ENDS]
    return 0 if all(worked) else 1


if __name__ == "__main__":
    sys.exit(main())
