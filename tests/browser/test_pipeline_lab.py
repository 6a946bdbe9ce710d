"""A pipeline run in a real JupyterLab: at night one of its nodes failed; it is found, read, repaired and run again."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

RUN = """
import threading
from chongming_task import AggregationPolicy, Controller, Pipeline, task

repaired, go = threading.Event(), threading.Event()

@task
def extract(ctx):
    return list(range(40))

@task
def load(ctx, part):
    if part == 7 and not repaired.is_set():
        raise ValueError(f"bad header in part {part}")
    return part

@task
def watch(ctx):
    while not go.wait(0.01):
        ctx.checkpoint()

@task
def report(ctx, parts):
    return sum(parts)

pipeline = Pipeline("nightly-etl", on_failure=AggregationPolicy.all_settled)
source = pipeline.add(extract, name="extract")
parts = pipeline.map(load, source, name="load")
pipeline.add(report, name="report", args=(parts,))
pipeline.add(watch, name="watch", deps=[source])
controller = Controller(name="etl", max_parallel=4)
run = pipeline.submit(controller)
run
"""
WAIT = "run.wait(60)"


def test_a_failed_task_of_a_map_is_found_and_run_again_while_a_cell_waits_for_the_run(
    lab: Lab, page: Page, tmp_path: Path, artifacts: Path
) -> None:
    """Its traceback in one click, what failed and was blocked in another; pause, resume; the file holds a table."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in (RUN, WAIT)])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = tmp_path / "run.ipynb"
    nbformat.write(book, path)
    notebook = lab.open(page, path)
    notebook.run_all(wait=False)
    notebook.wait_running(1)
    view = page.get_by_test_id("cmt-pipeline")
    expect(view).to_have_attribute("data-life", "live", timeout=20_000)
    load = page.locator("[data-unit=load]")
    expect(load).to_contain_text("39 done, 1 failed")
    expect(page.locator("[data-unit=report]")).to_contain_text("cancelled")
    expect(page.locator("[data-unit=watch]")).to_contain_text("running")
    trouble = page.get_by_test_id("cmt-trouble")
    expect(trouble).to_contain_text("load[7] ValueError: bad header in part 7")
    page.get_by_test_id("cmt-show-trouble").click()
    expect(page.get_by_test_id("cmt-trace")).to_contain_text("raise ValueError")
    notebook.screenshot(artifacts / "lab-pipeline.png")
    page.get_by_test_id("cmt-run-pause").click()
    expect(view).to_have_attribute("data-run", "paused")
    page.get_by_test_id("cmt-run-resume").click()
    expect(view).to_have_attribute("data-run", "running")
    notebook.kernel.run("repaired.set()")
    page.get_by_test_id("cmt-run-retry_failed").click()
    expect(load).to_contain_text("40 done")
    expect(page.locator("[data-unit=report]")).to_have_attribute("data-tone", "green")
    expect(trouble).to_have_count(0)
    load.focus()
    for key in "abdd":
        page.keyboard.press(key)
    assert notebook.cells.count() == 2  # keys pressed in the graph leave the notebook alone
    notebook.kernel.run("go.set()")
    notebook.wait_idle()
    expect(view).to_have_attribute("data-run", "succeeded")
    assert notebook.kernel_eval("run.result('report')") == sum(range(40))
    page.get_by_test_id("cmt-critical").click()
    notebook.screenshot(artifacts / "lab-pipeline-lit.png")
    output = notebook.save()["cells"][0]["outputs"][0]["data"]
    assert set(output) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "nightly-etl: 44 tasks" in "".join(output["text/plain"])
    assert notebook.errors() == []
    notebook.restart_kernel()
    expect(page.get_by_test_id("cmt-gone")).to_contain_text("Kernel gone: last known state")
    expect(page.locator("[data-unit=report]")).to_contain_text("done")
    notebook.close()
