"""Where a command's words go: results to stdout, everything about them to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from chongming_task.cli.render.documents import json_text

__all__ = ["Console"]


class Console:
    """The two streams of a command.

    Args:
        json: Whether results are JSON.
        hidden: Blots secrets out of what is told.
    """

    def __init__(self, *, json: bool, hidden: Callable[[str], str]) -> None:
        # Taken once: a controller in this process puts its own streams in their place, for its tasks.
        self._out, self._err = sys.stdout, sys.stderr
        self.json = json
        self._hidden = hidden
        self.live = _is_terminal(self._err)
        self.screen = _is_terminal(self._out)
        self.colour = self.screen and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    @property
    def room(self) -> int | None:
        """How wide a line of a result may be; None where nobody looks at it."""
        return self.width if self.screen else None

    @property
    def width(self) -> int:
        """Of the screen."""
        return shutil.get_terminal_size().columns

    @property
    def height(self) -> int:
        """Of the screen."""
        return shutil.get_terminal_size().lines

    def lines(self, lines: Iterable[str]) -> None:
        """Lines of the result."""
        text = "".join(f"{line}\n" for line in lines)
        self._out.write(text)
        self._out.flush()

    def document(self, document: Any) -> None:
        """The result as JSON."""
        self.documents([document])

    def documents(self, documents: Iterable[Any]) -> None:
        """JSON lines, in a mode that follows."""
        self.lines(map(json_text, documents))

    def redraw(self, lines: Iterable[str]) -> None:
        """Lines in place of those that are on the screen."""
        self._out.write("\x1b[H\x1b[2J")
        self.lines(lines)

    def note(self, text: str) -> None:
        """A remark beside the result."""
        self._tell(f"{text}\n")

    def error(self, text: str) -> None:
        """What went wrong."""
        self._tell(f"chongming-task: {text}\n")

    def status(self, text: str) -> None:
        """The one line at the bottom of the screen that changes; empty to take it away."""
        self._tell(f"\r\x1b[K{text}")

    def _tell(self, text: str) -> None:
        self._err.write(self._hidden(text))
        self._err.flush()


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False
