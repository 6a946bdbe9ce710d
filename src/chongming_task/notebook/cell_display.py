"""What a cell displays while it runs as a task becomes text in the task's output, not a picture in another cell."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["divert_displays"]


@contextmanager
def divert_displays(publisher: Any) -> Iterator[None]:
    """Has what this thread displays written as text, where a kernel would send it to whichever cell is newest.

    Does nothing in the main thread, whose cell is the right one (the inline executor runs there), and where there is no
    kernel: there displays are text already.

    Args:
        publisher: The shell's ``display_pub``.
    """
    register = getattr(publisher, "register_hook", None)
    if register is None or threading.current_thread() is threading.main_thread():
        yield
        return
    try:
        publisher.parent_header  # noqa: B018 - only looked at
    except LookupError:  # ipykernel 7.0 knows of no cell in this thread, and could not even make the message
        publisher.set_parent({})
    register(_write_as_text)  # of this thread alone
    try:
        yield
    finally:
        publisher.unregister_hook(_write_as_text)


def _write_as_text(message: dict[str, Any]) -> None:
    """Takes a message that the kernel was about to send; None says that it is done with."""
    text = message.get("content", {}).get("data", {}).get("text/plain")
    if text is not None:  # without any: an order to clear the cell's output, say
        sys.stdout.write(f"{text}\n")
