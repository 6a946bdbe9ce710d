"""How long a click takes: from the button in a real JupyterLab to ``TaskCancelled`` in the task.

make kernels                                    on every kernel
python -m tests.kernels.measure here            on this environment's own; also ipykernel-6 and so on
CLICKS=100 python -m tests.kernels.measure      so many clicks each, instead of 40

Browser and kernel run on one machine and are compared by its clock. Ends with 1 when a 95th percentile is over 150 ms.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, Notebook, running_lab
from tests.kernels.environments import HERE, KERNELS, Kernel
from tests.kernels.lab_kernels import offer, use_subshells, write_notebook
from tests.support import chromium

CLICKS = int(os.environ.get("CLICKS", "40"))
WARMING_UP = 3  # more, that do not count
AIM_MS = 150.0

TASKS = f"""
import json, time
from chongming_task import Controller, Pipeline, TaskCancelled

def crunch(ctx, number):
    try:
        while True:
            ctx.checkpoint()
            time.sleep(0.001)  # a task does something between two checkpoints
    except TaskCancelled:
        now = time.time()
        with open("heard", "a") as file:
            print(json.dumps([number, now * 1000]), file=file)
        raise

controller = Controller(name="clicks", max_parallel=1)
pipeline = Pipeline("clicks")
for number in range({CLICKS + WARMING_UP}):
    pipeline.add(crunch, number, name=f"part {{number}}")
run = pipeline.submit(controller)
panel = controller.panel()
panel
"""
CELLS = {"idle": "", "run.wait()": "run.wait()", "await run": "await run"}
# When the button was pressed, on the clock that the kernel has, too.
WATCH = """
() => {
  window.clicked = [];
  document.addEventListener("click", () => window.clicked.push(performance.timeOrigin + performance.now()), true);
}
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A kernel, what its cell does, and what the front end knows."""

    kernel: Kernel
    cell: str
    subshells: bool = True

    @property
    def name(self) -> str:
        """For a line of the table."""
        front = "" if self.subshells else ", front end without subshells"
        return f"{self.kernel.name}: {self.cell}{front}"


def scenes(kernels: list[Kernel]) -> list[Scene]:
    """Every kernel with every cell; those with subshells also without them."""
    ways = [(kernel, subshells) for kernel in kernels for subshells in (True, False)[: 1 + kernel.has_subshells]]
    return [Scene(kernel, cell, subshells) for kernel, subshells in ways for cell in CELLS]


def measure(lab: Lab, page: Page, scene: Scene) -> list[float]:
    """Milliseconds of every click."""
    use_subshells(lab, scene.subshells)
    cells = [TASKS, CELLS[scene.cell]] if CELLS[scene.cell] else [TASKS]
    with tempfile.TemporaryDirectory() as folder:
        notebook = lab.open(page, write_notebook(Path(folder) / "clicks.ipynb", scene.kernel, *cells))
    notebook.run_all(wait=False)
    expect(page.get_by_test_id("cmt-panel")).to_have_attribute("data-life", "live", timeout=20_000)
    page.get_by_test_id("cmt-chip-running").click()  # one row, that stays where it is
    page.evaluate(WATCH)
    try:
        return [_click(notebook, number) for number in range(CLICKS + WARMING_UP)][WARMING_UP:]
    finally:
        notebook.close()


def _click(notebook: Notebook, number: int) -> float:
    page = notebook.page
    row = page.get_by_test_id("cmt-row").filter(has=page.get_by_text(f"part {number}", exact=True))
    expect(row).to_have_attribute("data-status", "running", timeout=20_000)
    row.get_by_test_id("cmt-act-stop").click()
    pressed = page.evaluate("() => window.clicked.at(-1)")
    page.mouse.move(0, 0)  # under the pointer rows keep their places
    return _heard(notebook.file.with_name("heard"), number) - pressed


def _heard(file: Path, number: int) -> float:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        lines = file.read_text().splitlines() if file.exists() else []
        if len(lines) > number:
            told, at = json.loads(lines[number])
            assert told == number
            return float(at)
        time.sleep(0.01)
    raise TimeoutError(f"click {number} was not heard")


def main(names: list[str]) -> int:
    """Measure on the named kernels, or on all; print a table."""
    kernels = [kernel for kernel in (HERE, *KERNELS) if kernel.name in (names or [each.name for each in KERNELS])]
    worst = 0.0
    print(f"{CLICKS} clicks each; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with running_lab() as lab, chromium.browser() as browser:
        offer(lab, kernels)
        for scene in scenes(kernels):
            page = browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
            found = measure(lab, page, scene)
            page.close()
            p95 = statistics.quantiles(found, n=20)[-1]
            worst = max(worst, p95)
            print(f"{scene.name:65} median {statistics.median(found):6.1f} ms   p95 {p95:6.1f} ms", flush=True)
    return int(worst > AIM_MS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
