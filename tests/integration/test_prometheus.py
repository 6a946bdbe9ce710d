"""One run's numbers, scraped from a real endpoint."""

from __future__ import annotations

import sys
import threading
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from chongming_task import ConfigurationError, Controller, Pipeline, RetryPolicy, current_context
from chongming_task.core.telemetry import NO_TAGS
from chongming_task.observability.metrics import METRICS
from chongming_task.observability.prometheus import PrometheusSink


def load() -> list[int]:
    """The first step."""
    return [1, 2, 3]


def unsteady(rows: list[int]) -> int:
    """Fails once."""
    if current_context().attempt == 1:
        raise ValueError("not yet")
    return sum(rows)


def broken() -> None:
    """Always fails."""
    raise ValueError("no")


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def scrape(registry):
    """What a scrape of a real server finds: samples by name and labels."""
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)

    def found():
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return {(sample.name, *sorted(sample.labels.values())): sample.value for sample in samples}

    yield found
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_scrape_shows_one_run(registry, scrape, tmp_path):
    """A pipeline with a retry, and a task that fails, on a real store."""
    pipeline = Pipeline("nightly")
    rows = pipeline.add(load, name="load")
    pipeline.add(unsteady, rows, name="sum", retry=RetryPolicy(max_attempts=2, backoff="none"))
    with Controller(tmp_path / "runs.db", metrics=PrometheusSink(registry), name="main") as controller:
        pipeline.submit(controller).wait(30)
        controller.submit(broken).wait(30)
    found = scrape()
    assert found["chongming_tasks_ended_total", "load", "succeeded"] == 1
    assert found["chongming_tasks_ended_total", "succeeded", "unsteady"] == 1
    assert found["chongming_tasks_ended_total", "broken", "failed"] == 1
    assert found["chongming_retries_total", "unsteady"] == 1
    assert found["chongming_attempt_duration_seconds_count", "failed", "unsteady"] == 1
    assert found["chongming_attempt_duration_seconds_count", "succeeded", "unsteady"] == 1
    assert found["chongming_queue_wait_seconds_count", "load"] == 1
    assert found["chongming_tasks_open", "main", "running"] == 0
    assert found["chongming_abandoned_threads", "main"] == 0
    assert found["chongming_store_operation_seconds_count", "commit"] >= 1
    assert 0 < found["chongming_store_operation_seconds_sum", "commit"] < 30
    assert not [key for key in found if "_open" in key[0] and found[key] != 0]


def test_what_runs_now_is_seen_while_it_runs(registry, scrape):
    """A scrape in the middle; and one after the stop."""
    begun, told = threading.Event(), threading.Event()

    class TellingSink(PrometheusSink):
        def gauge(self, name, value, tags=NO_TAGS):
            super().gauge(name, value, tags)
            if tags.get("status") == "running" and value:
                told.set()

    def sleeper(ctx):
        begun.set()
        ctx.sleep(60)

    with Controller(metrics=TellingSink(registry)) as controller:
        handle = controller.submit(sleeper)
        assert begun.wait(10)
        assert told.wait(10)
        assert scrape()["chongming_tasks_open", "", "running"] == 1
        assert handle.stop()
    found = scrape()
    assert found["chongming_tasks_open", "", "running"] == 0
    assert (
        found["chongming_stop_latency_seconds_count", *sorted(["stopped", sleeper.__qualname__.rpartition(".")[2]])]
        == 1
    )


def test_several_sinks_share_a_registry(registry):
    """A notebook's cell may be run again."""
    for _ in range(2):
        with Controller(metrics=PrometheusSink(registry)) as controller:
            controller.submit(load).result()
    labels = {"task": "load", "status": "succeeded"}
    assert registry.get_sample_value("chongming_tasks_ended_total", labels) == 2


def test_a_metric_of_somebody_else_in_the_way_is_told(registry):
    """With what to do."""
    Counter("chongming_tasks_ended", "of somebody else", registry=registry)
    with pytest.raises(ConfigurationError, match="not ours"):
        PrometheusSink(registry).incr("chongming_tasks_ended_total", 1, {"task": "t", "status": "s"})


def test_metrics_of_ones_own_can_be_told_to_the_same_sink(registry):
    """Their labels are the tags they come with."""
    sink = PrometheusSink(registry, buckets=(1, 10))
    sink.observe("rows_loaded", 5, {"table": "users"})
    assert registry.get_sample_value("rows_loaded_bucket", {"table": "users", "le": "10.0"}) == 1
    sink.gauge("workers", 3)
    assert registry.get_sample_value("workers") == 3


def test_the_page_lists_every_metric(pytestconfig):
    """docs/observability.md and the table say the same."""
    page = (pytestconfig.rootpath / "docs" / "observability.md").read_text(encoding="utf-8")
    for name, metric in METRICS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert all(f"`{tag}`" in row for tag in metric.tags)


def test_a_missing_library_names_the_extra(monkeypatch):
    """At the call that needs it."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigurationError, match=r"chongming-task\[prometheus\]"):
        PrometheusSink()
