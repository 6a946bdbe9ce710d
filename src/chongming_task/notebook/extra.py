"""What to say when the extra ``notebook`` is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chongming_task import extras

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["require"]


def require(module: str, purpose: str) -> ModuleType:
    """Imports a library of the extra, or says how to get it.

    Args:
        module: What to import, such as ``"anywidget"``.
        purpose: What needs it, as the start of a sentence: ``"The panel"``.

    Raises:
        ConfigurationError: It is not installed.
    """
    return extras.require(module, purpose, "notebook")
