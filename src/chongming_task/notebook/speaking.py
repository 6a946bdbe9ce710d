"""Widgets that speak from the pump's thread, also those that are made there or are somebody else's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import Context, copy_context

__all__ = ["speaking_as_here"]

Speak = Callable[[Callable[[], None]], None]


def speaking_as_here() -> Speak:
    """How to run what touches widgets, on a thread that is none of the kernel's.

    ipykernel 7.0 cannot publish from such a thread: it finds no cell to name as the reason. There it is named the one
    that runs now.

    Returns:
        A function that runs what it is given.
    """
    module = sys.modules.get("IPython")  # whoever runs in it has imported it
    kernel = getattr(module.get_ipython(), "kernel", None) if module is not None else None
    get_parent = getattr(kernel, "get_parent", None)
    if get_parent is None:
        return _just
    try:
        Context().run(get_parent)
    except LookupError:
        here = copy_context()
        return lambda action: here.copy().run(action)  # a context can be entered once at a time
    return _just


def _just(action: Callable[[], None]) -> None:
    action()
