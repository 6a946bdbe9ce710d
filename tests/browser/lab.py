"""A real JupyterLab in a real Chromium: for journeys that a person makes.

notebook = lab.open(page, "notebooks/quickstart.ipynb")
notebook.run_all()
page.get_by_test_id("pause").click()
assert notebook.kernel_eval("str(handle.status)") == "PAUSED"
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, Page, Response, expect

from tests.support import kernel

START_SECONDS = 90  # a quiet machine needs eight
CELLS_MILLISECONDS = 40_000
SAVE_MILLISECONDS = 20_000
QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
BUSY_PROMPT = "[*]:"


@dataclass(frozen=True, slots=True)
class Lab:
    """A running server and the folder it serves."""

    url: str  # http://127.0.0.1:<port>
    token: str
    folder: Path  # its root: notebooks are copied here
    runtime: Path  # where kernels write their connection files

    def open(self, page: Page, notebook: Path | str) -> Notebook:
        """Copies the notebook into a folder of its own on the server, opens it and waits until its kernel is ready.

        The notebook must name its kernel (metadata.kernelspec), or JupyterLab asks the user for one.
        """
        source = Path(notebook)
        home = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copy(source, home / source.name)
        path = f"{home.name}/{source.name}"
        page.goto(f"{self.url}/lab/workspaces/{home.name}/tree/{path}?token={self.token}&reset")
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=START_SECONDS * 1000)
        opened = Notebook(self, page, path)
        opened.wait_kernel_ready()
        return opened

    def get(self, path: str) -> Any:
        """What the server's REST interface answers to GET /api/<path>."""
        request = urllib.request.Request(f"{self.url}/api/{path}", headers={"Authorization": f"token {self.token}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


class Notebook:
    """One notebook open in a page, with a line of its own to the kernel."""

    def __init__(self, lab: Lab, page: Page, path: str) -> None:
        self.lab = lab
        self.page = page
        self.path = path  # on the server
        self.file = lab.folder / path
        self._kernel: kernel.KernelClient | None = None

    @property
    def cells(self) -> Locator:
        """The code cells, in order."""
        return self.page.locator(".jp-Notebook .jp-CodeCell")

    def wait_kernel_ready(self) -> None:
        """Waits until the status bar shows an idle kernel."""
        idle = self.page.locator(".jp-StatusBar-Widget").get_by_text("| Idle")
        idle.first.wait_for(timeout=START_SECONDS * 1000)

    def run_all(self, *, wait: bool = True) -> None:
        """Runs every cell through the Run menu; with `wait`, returns when the last one has ended."""
        self._menu("Run", "runmenu:run-all")
        if wait:
            self.wait_idle()

    def wait_idle(self, timeout: float = CELLS_MILLISECONDS / 1000) -> None:
        """Waits until every code cell has run and none runs any more."""
        self.page.wait_for_function(
            """busy => {
              const prompts = [...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')];
              return prompts.length > 0 && prompts.every((prompt) => /\\d/.test(prompt.textContent))
                && !prompts.some((prompt) => prompt.textContent.includes(busy));
            }""",
            arg=BUSY_PROMPT,
            timeout=timeout * 1000,
        )

    def wait_running(self, index: int) -> None:
        """Waits until the code cell `index` is running or queued."""
        expect(self.cells.nth(index).locator(".jp-InputPrompt")).to_contain_text(BUSY_PROMPT, timeout=15_000)

    def output(self, index: int) -> str:
        """The text of a code cell's output area."""
        return self.cells.nth(index).locator(".jp-Cell-outputArea").inner_text()

    def errors(self) -> list[str]:
        """The tracebacks that cells show."""
        return self.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()

    def save(self) -> dict[str, Any]:
        """Saves the notebook and returns what is on disk: with widget states where JupyterLab's setting says so."""

        def checkpointed(answer: Response) -> bool:  # the last step, when the file is whole and another save may begin
            return answer.request.method == "POST" and answer.url.split("?")[0].endswith(
                f"{self.file.name}/checkpoints"
            )

        with self.page.expect_response(checkpointed, timeout=SAVE_MILLISECONDS) as saved:
            self._menu("File", "docmanager:save")
        assert saved.value.ok, saved.value.status_text
        return json.loads(self.file.read_text())

    def restart_kernel(self) -> None:
        """Restarts the kernel through its menu, and returns when the new one answers."""
        pid = "__import__('os').getpid()"
        before = self.kernel_eval(pid)
        self._menu("Kernel", "kernelmenu:restart")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self._forget_kernel()
            self.page.wait_for_timeout(100)  # the dying kernel may still answer
            try:
                if self.kernel_eval(pid, timeout=2) != before:
                    self.wait_kernel_ready()
                    return
            except (TimeoutError, RuntimeError):  # between the two kernels
                continue
        raise TimeoutError(f"the kernel did not restart within {START_SECONDS} s")

    def kernel_eval(self, expression: str, timeout: float = 20) -> Any:
        """The JSON-able value of an expression in the kernel, also while a cell runs (ipykernel 7)."""
        return self.kernel.eval(expression, timeout)

    @property
    def kernel(self) -> kernel.KernelClient:
        """The line to the kernel, made when first asked for."""
        if self._kernel is None:
            sessions = [s for s in self.lab.get("sessions") if s["path"] == self.path]
            assert len(sessions) == 1, f"{self.path} has {len(sessions)} sessions"
            file = self.lab.runtime / f"kernel-{sessions[0]['kernel']['id']}.json"
            self._kernel = kernel.connect(file, timeout=5)
        return self._kernel

    def screenshot(self, path: Path) -> None:
        """Takes a picture of the window."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)

    def close(self) -> None:
        """Ends the kernel and leaves the page."""
        self._forget_kernel()
        for session in self.lab.get("sessions"):
            if session["path"] == self.path:
                _delete(self.lab, f"sessions/{session['id']}")
        self.page.goto("about:blank")

    def _forget_kernel(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _menu(self, title: str, command: str) -> None:
        self.page.locator(".lm-MenuBar-item", has_text=title).first.click()
        self.page.locator(f".lm-Menu [data-command='{command}']").click()


def written(folder: Path, *cells: str) -> Path:
    """A notebook file with these code cells, for ``Lab.open``."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "written.ipynb"
    nbformat.write(book, path)
    return path


@contextmanager
def running_lab() -> Iterator[Lab]:
    """A JupyterLab server on a free port of 127.0.0.1, with nothing of this machine's user in it."""
    with tempfile.TemporaryDirectory(prefix="chongming-lab-", ignore_cleanup_errors=True) as temp:
        home = Path(temp)
        folder, runtime = home / "root", home / "runtime"
        folder.mkdir()
        _write_settings(home / "settings")
        port, token = _free_port(), secrets.token_hex(16)
        with (home / "server.log").open("wb") as log:
            server = subprocess.Popen(
                _command(folder, port, token),
                cwd=folder,
                env=_environment(home),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            lab = Lab(f"http://127.0.0.1:{port}", token, folder, runtime)
            try:
                _wait_started(lab, server, home / "server.log")
                yield lab
            finally:
                _stop(lab, server)


def _command(folder: Path, port: int, token: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
    ]


def _environment(home: Path) -> dict[str, str]:
    folders = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    # COVERAGE: measured, a server takes twice as long to start.
    dropped = ("JUPYTER", "IPYTHON", "COVERAGE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {name: str(home / folder) for name, folder in folders.items()} | {"JUPYTER_PLATFORM_DIRS": "1"}


def _write_settings(folder: Path) -> None:
    extension = folder / "@jupyterlab" / "apputils-extension"
    extension.mkdir(parents=True)
    (extension / "notification.jupyterlab-settings").write_text(json.dumps(QUIET))


def _wait_started(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            lab.get("status")
        except urllib.error.HTTPError:
            raise
        except OSError:
            time.sleep(0.05)  # not listening yet
        else:
            return
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")


def _stop(lab: Lab, server: subprocess.Popen[bytes]) -> None:
    """Ends the kernels, then the server; a server that does not obey is killed."""
    if server.poll() is None:
        try:
            for running in lab.get("kernels"):
                _delete(lab, f"kernels/{running['id']}")
        except OSError as error:
            print(f"kernels were not ended: {error}")
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(10)


def _delete(lab: Lab, path: str) -> None:
    headers = {"Authorization": f"token {lab.token}"}
    request = urllib.request.Request(f"{lab.url}/api/{path}", method="DELETE", headers=headers)
    with urllib.request.urlopen(request, timeout=20):
        pass


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
