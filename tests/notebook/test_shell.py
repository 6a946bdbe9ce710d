"""The kernel around the views: `notebook/shell.py`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from chongming_task.notebook import shell as module
from chongming_task.notebook.serving_line import line_of
from chongming_task.notebook.shell import Shell, hear_clicks_while_a_cell_runs


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


class FakeKernel:
    """As much of a kernel as says which message it handles."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}

    def get_parent(self, channel: str) -> dict[str, Any]:
        """As ipykernel's."""
        assert channel == "shell"
        return {"header": self.header}


@pytest.fixture
def kernel(ipython) -> FakeKernel:
    ipython.kernel = FakeKernel()
    return ipython.kernel


def handle(ipython: FakeIPython, kernel: FakeKernel, event: str, kind: str, number: int) -> None:
    """Triggers an event while the kernel has this message in hand."""
    kernel.header = {"msg_type": kind, "msg_id": f"{kind} {number}"}
    ipython.trigger(event)


def test_a_message_of_a_comm_within_a_cell_neither_ends_nor_begins_one(ipython, kernel):
    """Its handler triggers the events of a cell as well."""
    shell = Shell()
    kernel.header = {"msg_type": "execute_request", "msg_id": "execute_request 1"}
    shell.watch()
    for number in range(2):
        handle(ipython, kernel, "pre_execute", "comm_msg", number)
        handle(ipython, kernel, "post_execute", "comm_msg", number)
        assert shell.busy
    handle(ipython, kernel, "pre_execute", "comm_msg", 2)  # it raised, and no event tells its end
    handle(ipython, kernel, "post_execute", "execute_request", 1)
    assert not shell.busy


def test_a_callback_of_a_comm_keeps_an_idle_kernel_busy(ipython, kernel):
    """Until it ends; when it raised, until the next cell has ended."""
    shell = Shell()
    elsewhere(shell.watch)
    handle(ipython, kernel, "pre_execute", "comm_msg", 1)
    assert shell.idle_since is None
    handle(ipython, kernel, "post_execute", "comm_msg", 1)
    assert shell.idle_since is not None
    handle(ipython, kernel, "pre_execute", "comm_msg", 2)
    handle(ipython, kernel, "pre_execute", "execute_request", 3)
    assert shell.busy
    handle(ipython, kernel, "post_execute", "execute_request", 3)
    assert not shell.busy


class Comm:
    """As ipykernel 7.4's: what it gets goes to the shell that last published on it."""

    def _reply_subshell_for(self, data: object, default: str | None) -> str:
        return "busy"


class ComingComm:
    """As one of a version to come might be."""

    def _reply_subshell_for(self, message: object) -> str:
        return "as it likes"


def test_the_front_end_chooses_the_subshell():
    """As it does on kernels before 7.4, whose comms have nothing to choose."""
    comm = Comm()
    hear_clicks_while_a_cell_runs(comm)
    assert comm._reply_subshell_for({}, "mine") == "mine"
    assert comm._reply_subshell_for({}, None) is None
    plain = object()
    hear_clicks_while_a_cell_runs(plain)  # nothing to be done, and nothing raised


def test_a_comm_that_routes_in_another_way_is_left_alone():
    """The hook is private, and may change."""
    comm = ComingComm()
    hear_clicks_while_a_cell_runs(comm)
    assert comm._reply_subshell_for({}) == "as it likes"


def test_a_kernel_that_is_made_differently_is_left_alone(kernel):
    """Where messages wait for their turn is private, too."""
    assert line_of(None) is None
    assert line_of(kernel) is None
    for name in ("session", "io_loop", "shell_handlers", "set_parent", "_parent_ident"):
        setattr(kernel, name, None)
    kernel._publish_status = kernel._publish_status_and_flush = None
    assert line_of(kernel) is None
    kernel.shell_stream = object()
    assert line_of(kernel) is None
