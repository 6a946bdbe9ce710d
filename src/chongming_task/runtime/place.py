"""Where this process runs: in a Jupyter kernel, or anywhere else."""

from __future__ import annotations

import sys

__all__ = ["in_kernel"]


def in_kernel() -> bool:
    """Whether a Jupyter kernel runs in this process, where what a thread prints lands in whichever cell is newest.

    IPython is not imported for it: whoever runs in a kernel has done so.
    """
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None
