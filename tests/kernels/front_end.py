"""A front end without subshells, such as most are: it sends what it is told, and keeps what comes back."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from tests.kernels.environments import Kernel

PATIENCE = 30.0  # seconds

Message = dict[str, Any]


@dataclass(slots=True)
class FrontEnd:
    """One kernel, and what it has published so far."""

    process: subprocess.Popen[bytes]
    client: BlockingKernelClient
    heard: list[Message] = field(default_factory=list)  # from iopub, in order

    def execute(self, code: str) -> str:
        """Asks for a cell, and waits for nothing. Returns the message's id."""
        return self.client.execute(code, store_history=True)

    def run(self, code: str) -> None:
        """Runs a cell that must succeed."""
        assert (reply := self.reply(self.execute(code)))["status"] == "ok", reply

    def say(self, comm: str, data: object) -> str:
        """Sends a message to a comm. Returns the message's id."""
        message = self.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def click(self, widget: str, content: object) -> str:
        """Sends what a widget's view says."""
        return self.say(widget, {"method": "custom", "content": content})

    def interrupt(self) -> None:
        """As the button does."""
        self.process.send_signal(signal.SIGINT)

    def reply(self, msg_id: str) -> dict[str, Any]:
        """The answer to a request, and everything that is published of it, until the kernel is idle again."""
        ends = time.monotonic() + PATIENCE
        while True:
            answer = self.client.get_shell_msg(timeout=max(ends - time.monotonic(), 0.01))
            if answer["parent_header"]["msg_id"] == msg_id:
                break
        self.until(lambda message: is_idle(message) and parent_of(message) == msg_id, "the kernel is idle")
        return answer["content"]

    def until(self, wanted: Callable[[Message], bool], what: str) -> Message:
        """The first message that was published and is wanted; waits for it."""
        ends = time.monotonic() + PATIENCE
        for message in self.heard:
            if wanted(message):
                return message
        while (left := ends - time.monotonic()) > 0:
            try:
                message = self.client.get_iopub_msg(timeout=left)
            except Empty:
                break
            self.heard.append(message)
            if wanted(message):
                return message
        raise AssertionError(f"it was never published that {what}; heard: {[_brief(each) for each in self.heard]}")

    def printed(self, text: str) -> Message:
        """Waits until something is printed. The message's parent is the cell it belongs to."""
        return self.until(lambda message: text in message["content"].get("text", ""), f"{text!r} is printed")

    def statuses(self, of: str | None = None) -> list[str]:
        """What the kernel said of itself, for one request or for all."""
        found = [_status(each) for each in self.heard if of in (None, parent_of(each))]
        return [status for status in found if status is not None]


def parent_of(message: Message) -> str:
    """The id of the request that a message belongs to."""
    return str(message["parent_header"].get("msg_id"))


def is_idle(message: Message) -> bool:
    """Whether the kernel says that it has done what it was asked for."""
    return _status(message) == "idle"


def _status(message: Message) -> str | None:
    return message["content"]["execution_state"] if message["msg_type"] == "status" else None


def _brief(message: Message) -> str:
    return f"{message['msg_type']} {message['content'].get('text') or message['content'].get('execution_state', '')}"


@contextmanager
def front_end(kernel: Kernel, folder: Path) -> Iterator[FrontEnd]:
    """A kernel of this kind that has just been started."""
    file, _ = write_connection_file(str(folder / "connection.json"), key=b"only this test's")
    process = subprocess.Popen([*kernel.argv, file], cwd=folder)
    client = BlockingKernelClient(connection_file=file)
    try:
        client.load_connection_file()
        client.start_channels()
        _wait_ready(client)
        yield FrontEnd(process, client)
    finally:
        client.stop_channels()
        process.kill()
        process.wait()


def _wait_ready(client: BlockingKernelClient) -> None:
    """Waits until the kernel answers, and what it publishes is heard."""
    ends = time.monotonic() + PATIENCE * 2
    while True:
        client.kernel_info(reply=True, timeout=max(ends - time.monotonic(), 0.01))
        try:
            client.get_iopub_msg(timeout=0.2)
            return
        except Empty:  # its socket was not connected yet
            pass
