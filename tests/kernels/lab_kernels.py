"""Kernels of other environments in a JupyterLab, and front ends that use subshells or do not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import nbformat

from tests.browser.lab import Lab
from tests.kernels.environments import Kernel

__all__ = ["offer", "use_subshells", "write_notebook"]

KERNELS_SETTINGS = Path("@jupyterlab/apputils-extension/kernels-settings.jupyterlab-settings")


def offer(lab: Lab, kernels: Iterable[Kernel]) -> None:
    """Lets notebooks of this JupyterLab name these kernels."""
    for kernel in kernels:
        folder = lab.runtime.parent / "data" / "kernels" / kernel.name
        folder.mkdir(parents=True, exist_ok=True)
        spec = {"argv": [*kernel.argv, "{connection_file}"], "display_name": kernel.name, "language": "python"}
        (folder / "kernel.json").write_text(json.dumps(spec))


def use_subshells(lab: Lab, use: bool) -> None:
    """Whether pages that are opened from now on send messages of comms to subshells, where the kernel has them."""
    file = lab.runtime.parent / "settings" / KERNELS_SETTINGS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"commsOverSubshells": "perCommTarget" if use else "disabled"}))


def write_notebook(path: Path, kernel: Kernel, *cells: str) -> Path:
    """A notebook of these cells, for this kernel."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in cells])
    book.metadata["kernelspec"] = {"name": kernel.name, "display_name": kernel.name, "language": "python"}
    nbformat.write(book, path)
    return path
