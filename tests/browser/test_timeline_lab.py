"""The timeline in a real JupyterLab: attempts as they happen, the drawer, a run of its own, a restarted kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, written

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

TASKS = """
import threading
from chongming_task import Controller, Pipeline, RetryPolicy, task

end, go = threading.Event(), threading.Event()

@task(retry=RetryPolicy(max_attempts=3, backoff="none"))
def flaky(ctx):
    if ctx.attempt < 3:
        raise OSError(f"try {ctx.attempt}")

@task
def crunch(ctx):
    while not end.wait(0.02):
        ctx.checkpoint()

controller = Controller(name="nightly-etl", max_parallel=3)
first = controller.submit(flaky, name="upload")
first.wait(timeout=20)
long = [controller.submit(crunch, name=f"crunch {n}") for n in range(2)]
timeline = controller.timeline()
timeline
"""
RUN = """
pipeline = Pipeline("two steps")
pipeline.add(len, "abc", name="count")
pipeline.add(abs, -1, name="turn")
run = pipeline.submit(controller)
run.wait(timeout=20)
run.timeline()
"""
WAIT = "go.wait(40)"


def test_attempts_show_and_are_steered_while_a_cell_runs(lab: Lab, page: Page, tmp_path: Path, artifacts: Path):
    """Tries that failed, a pause, a stop from the drawer; then a run's own timeline; then a kernel that is gone."""
    notebook = lab.open(page, written(tmp_path, TASKS, RUN, WAIT))
    notebook.run_all(wait=False)
    notebook.wait_running(2)
    plot = page.get_by_test_id("cmt-plot").first
    expect(plot).to_have_attribute("data-bars", "7", timeout=20_000)  # three tries, two at work, two nodes
    expect(page.get_by_test_id("cmt-legend").first).to_contain_text("Failed 2")
    expect(page.get_by_test_id("cmt-plot").nth(1)).to_have_attribute("data-bars", "2")
    plot.focus()
    heard = page.get_by_test_id("cmt-spoken").first
    page.keyboard.press("ArrowRight")
    expect(heard).to_contain_text("upload, failed, try 1 of 3")
    page.keyboard.press("End")
    expect(heard).to_contain_text("running")
    page.keyboard.press("Enter")
    picked = page.get_by_test_id("cmt-picked")
    expect(picked.get_by_test_id("cmt-facts")).to_be_visible()
    picked.get_by_test_id("cmt-act-pause").click()
    expect(picked).to_have_attribute("data-status", "paused")
    expect(page.get_by_test_id("cmt-hatch").first).to_be_visible()
    picked.get_by_test_id("cmt-act-resume").click()
    expect(picked).to_have_attribute("data-status", "running")
    notebook.screenshot(artifacts / "lab-timeline.png")
    picked.get_by_test_id("cmt-act-stop").click()
    expect(picked).to_have_attribute("data-status", "stopped")
    expect(page.get_by_test_id("cmt-legend").first).to_contain_text("Stopped 1")
    for key in "abdd":  # keys in the plot leave the notebook alone
        plot.focus()
        page.keyboard.press(key)
    assert notebook.cells.count() == 3
    stopped = "[h.status.value for h in long].count('stopped')"
    assert notebook.kernel_eval(stopped) == 1
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    assert notebook.errors() == []
    notebook.restart_kernel()
    expect(page.get_by_test_id("cmt-gone").first).to_contain_text("Kernel gone: last known state")
    stands = plot.get_attribute("data-to")
    page.wait_for_timeout(1500)  # a present that moved would have by now
    assert plot.get_attribute("data-to") == stands
    notebook.close()
