"""What controllers, handles and runs show as the last line of a cell: a live view in a kernel, else their repr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from chongming_task.notebook.view import View

__all__ = ["Bundle", "bundle_of"]

Bundle = dict[str, Any] | tuple[dict[str, Any], dict[str, Any]] | None
"""What IPython takes for a mimebundle; None: the repr."""


def bundle_of(owner: object, make: Callable[[], View]) -> Bundle:
    """The mimebundle of an object's live view where there is a kernel to keep it alive; elsewhere None.

    Args:
        owner: What is shown. It keeps its view: shown again, it is the same one in a second place.
        make: Makes the view.
    """
    if not (_in_a_kernel() or _in_marimo()):
        return None
    kept: View | None = vars(owner).get(_KEPT)
    try:
        view = make() if kept is None or kept.closed else kept
    except ConfigurationError:  # the extra is not installed: the repr says what is known
        return None
    vars(owner)[_KEPT] = view
    return view._repr_mimebundle_()


_KEPT = "_shown_view"


def _in_a_kernel() -> bool:
    """IPython in a terminal has no widgets. It is not imported for this: whoever runs in it has done so."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is not None


def _in_marimo() -> bool:
    """Whose notebooks have widgets and no kernel."""
    module = sys.modules.get("marimo")
    return module is not None and bool(module.running_in_notebook())
