"""A committed notebook, run top to bottom in a real kernel, and what its cells show."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

__all__ = ["NOTEBOOKS", "Ran"]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


class Ran:
    """An executed notebook.

    Args:
        path: The notebook.
        folder: Where it runs.
        probe: Code for a cell after its last, in the same kernel: prints what the cells left behind, as JSON.
        seconds: How long a cell may take.
    """

    def __init__(self, path: Path, folder: Path, probe: str, *, seconds: int = 90) -> None:
        self.notebook = nbformat.read(path, as_version=4)
        self.notebook.cells.append(nbformat.v4.new_code_cell(probe))  # type: ignore[no-untyped-call]
        self._probe = probe
        place = {"metadata": {"path": str(folder)}}
        began = time.monotonic()
        # What ends the kernel lies in `execute`, also when a cell fails.
        NotebookClient(self.notebook, timeout=seconds, kernel_name="python3", resources=place).execute()
        self.seconds = time.monotonic() - began

    @property
    def code_cells(self) -> list[Any]:
        """The cells that ran."""
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    @property
    def left(self) -> dict[str, Any]:
        """What the cells left in the kernel."""
        found: dict[str, Any] = json.loads(self.text(self._probe))
        return found

    def outputs(self, part_of_source: str) -> list[Any]:
        """The outputs of the one code cell whose source holds that text."""
        found = [cell for cell in self.code_cells if part_of_source in cell.source]
        assert len(found) == 1, f"{len(found)} cells hold {part_of_source!r}"
        outputs: list[Any] = found[0].outputs
        return outputs

    def text(self, part_of_source: str) -> str:
        """What that cell printed, or the text of its value; Markdown as it is written."""
        return "\n".join(
            output.text.strip()
            if output.output_type == "stream"
            else output.data.get("text/markdown", output.data["text/plain"])
            for output in self.outputs(part_of_source)
        )

    def went_well(self) -> None:
        """No cell failed or wrote to stderr, and each ran once, in order.

        Raises:
            AssertionError: Otherwise.
        """
        outputs = [output for cell in self.code_cells for output in cell.outputs]
        assert [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"] == []
        counts = [cell.execution_count for cell in self.code_cells]
        assert counts == list(range(1, len(counts) + 1))
