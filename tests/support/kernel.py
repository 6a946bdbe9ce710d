"""Asks a running kernel for values, also while a cell runs in it."""

from __future__ import annotations

import ast
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.session import Session

SUBSHELLS = "kernel subshells"  # the name of the feature in the kernel's own list


@dataclass(slots=True)
class KernelClient:
    """Two sockets to a kernel, found through its connection file.

    On a kernel with subshells (ipykernel 7) questions are answered while the main shell runs a cell; on others they
    wait for the cell to end.
    """

    session: Session
    shell: zmq.Socket[bytes]
    control: zmq.Socket[bytes]
    subshell: str | None = None

    def eval(self, expression: str, timeout: float = 20) -> Any:
        """The value of `expression` in the user's namespace, which must be JSON-able."""
        code = f"__import__('json').dumps({expression})"
        content = {
            "code": "",
            "silent": True,
            "store_history": False,
            "user_expressions": {"value": code},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        answer = self.ask(self.shell, "execute_request", content, timeout)["user_expressions"]["value"]
        if answer["status"] != "ok":
            raise RuntimeError(f"{expression}: {answer['ename']}: {answer['evalue']}")
        return json.loads(ast.literal_eval(answer["data"]["text/plain"]))

    def run(self, code: str, timeout: float = 20) -> None:
        """Runs statements in the user's namespace."""
        content = {"code": code, "silent": True, "store_history": False, "user_expressions": {}, "allow_stdin": False}
        answer = self.ask(self.shell, "execute_request", content, timeout)
        if answer["status"] != "ok":
            raise RuntimeError("\n".join(answer.get("traceback", [answer["status"]])))

    def close(self) -> None:
        """Ends the subshell and closes the sockets; the kernel goes on."""
        if self.subshell:  # not waited for: the kernel may have ended
            self.session.send(self.control, "delete_subshell_request", {"subshell_id": self.subshell})
        self.shell.close(linger=0)
        self.control.close(linger=200)

    def ask(self, socket: zmq.Socket[bytes], kind: str, content: dict[str, Any], timeout: float) -> dict[str, Any]:
        """Sends one request and returns the content of its answer."""
        message = self.session.msg(kind, content=content)
        message["header"]["subshell_id"] = self.subshell if socket is self.shell else None
        self.session.send(socket, message)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if socket.poll(left * 1000):
                _, answer = self.session.recv(socket, mode=0)
                if answer["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                    return answer["content"]
        raise TimeoutError(f"the kernel gave no answer to {kind} within {timeout:g} s")


def connect(connection_file: Path, timeout: float = 20, *, starting: bool = False) -> KernelClient:
    """A client of the kernel that `connection_file` describes.

    A kernel that is only `starting` cannot make subshells before its main shell answers, which is then waited for.
    """
    info = json.loads(connection_file.read_text())
    session = Session(key=info["key"].encode(), signature_scheme=info["signature_scheme"])
    context = zmq.Context.instance()

    def dealer(port: int) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(f"{info['transport']}://{info['ip']}:{port}")
        return socket

    client = KernelClient(session, dealer(info["shell_port"]), dealer(info["control_port"]))
    try:
        if starting:
            client.ask(client.shell, "kernel_info_request", {}, timeout)
        features = client.ask(client.control, "kernel_info_request", {}, timeout).get("supported_features", [])
        if SUBSHELLS in features:
            client.subshell = client.ask(client.control, "create_subshell_request", {}, timeout)["subshell_id"]
    except TimeoutError:
        client.close()
        raise
    return client
