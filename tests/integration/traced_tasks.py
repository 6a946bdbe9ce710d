"""Tasks that trace on their own; a module, so that another process can import them."""

from __future__ import annotations

from opentelemetry import trace


def where() -> tuple[str, str]:
    """Trace and span that are current here, as hexadecimal text."""
    here = trace.get_current_span().get_span_context()
    return f"{here.trace_id:032x}", f"{here.span_id:016x}"


async def where_async() -> tuple[str, str]:
    """The same in a coroutine."""
    return where()


def leave(code: int) -> None:
    """Ends the process."""
    import os

    os._exit(code)
