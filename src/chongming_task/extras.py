"""What to say when an extra is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["require"]


def require(module: str, purpose: str, extra: str) -> ModuleType:
    """Imports an optional library, or says how to get it.

    Args:
        module: What to import, such as ``"anywidget"``.
        purpose: What needs it, as the start of a sentence: ``"The panel"``.
        extra: The extra that brings it, such as ``"notebook"``.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise ConfigurationError(
            f'{purpose} needs {module}, which is not installed. Run: pip install "chongming-task[{extra}]"'
        ) from missing
