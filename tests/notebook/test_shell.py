"""The kernel around the views: `notebook/shell.py`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from chongming_task.notebook import shell as module
from chongming_task.notebook.shell import Shell


class FakeIPython:
    """As much of an InteractiveShell as is watched: its events are shared by the shell and its subshells."""

    def __init__(self) -> None:
        self.events = self
        self.callbacks: dict[str, list[Callable[[], None]]] = {"pre_execute": [], "post_execute": []}

    def register(self, event: str, callback: Callable[[], None]) -> None:
        """As IPython's."""
        self.callbacks[event].append(callback)

    def trigger(self, event: str) -> None:
        """As IPython's: on the thread that executes."""
        for callback in self.callbacks[event]:
            callback()


def elsewhere(act: Callable[[], Any]) -> None:
    """As a subshell: on a thread of its own."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


@pytest.fixture
def ipython(monkeypatch) -> FakeIPython:
    fake = FakeIPython()
    monkeypatch.setattr(module, "_ipython", lambda: fake)
    return fake


def test_a_cell_makes_the_kernel_busy_until_it_ends(ipython):
    """The one that began to watch, and every later one."""
    shell = Shell()
    shell.watch()
    assert shell.idle_since is None
    ipython.trigger("post_execute")
    assert shell.idle_since is not None
    ipython.trigger("pre_execute")
    assert shell.idle_since is None


def test_what_a_subshell_executes_says_nothing_of_the_cell(ipython):
    """It neither ends the main cell nor keeps an idle kernel busy."""
    shell = Shell()
    shell.watch()
    elsewhere(lambda: (ipython.trigger("pre_execute"), ipython.trigger("post_execute")))
    assert shell.idle_since is None
    ipython.trigger("post_execute")
    idle_since = shell.idle_since
    elsewhere(lambda: ipython.trigger("pre_execute"))
    assert shell.idle_since == idle_since


def test_a_panel_made_on_a_subshell_takes_no_cell_for_running(ipython):
    """Nothing would end it again."""
    shell = Shell()
    elsewhere(shell.watch)
    assert shell.idle_since is not None
    ipython.trigger("pre_execute")
    assert shell.idle_since is None


def test_one_shell_is_watched_once(ipython):
    """However many panels it shows."""
    shell = Shell()
    shell.watch()
    shell.watch()
    assert [len(each) for each in ipython.callbacks.values()] == [1, 1]


def test_without_ipython_no_cell_ever_runs(monkeypatch):
    """A script is never busy."""
    monkeypatch.setattr(module, "_ipython", lambda: None)
    shell = Shell()
    shell.watch()
    assert shell.idle_since is not None
