"""Every record says which task it comes from, and a line of JSON is always one line of JSON."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import sys

import pytest

from chongming_task import Controller, RetryPolicy
from chongming_task.observability.logs import TASK_FIELDS, JsonFormatter, TaskFieldsFilter


@pytest.fixture
def lines():
    """What a handler with the JSON formatter has written, for a logger of somebody's own."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)


def formatted(**fields):
    """A record through the formatter, as it comes back from JSON."""
    line = JsonFormatter().format(logging.makeLogRecord(fields))
    assert len(line.splitlines()) == 1
    return json.loads(line, parse_constant=pytest.fail)  # NaN is no JSON


def speak():
    """A task that logs by a logger of its own."""
    logging.getLogger("app.module").warning("found %d", 3, extra={"rows": 3})


@pytest.mark.parametrize("capture", [True, False])
def test_records_of_any_logger_carry_the_task(lines, capture):
    """Whether or not output is captured."""
    with Controller(capture=capture) as controller:
        handle = controller.submit(speak, name="monday")
        handle.result()
    logging.getLogger("app").warning("outside")
    inside, outside = lines()
    assert inside | {"time": 0} == {
        "time": 0, "level": "WARNING", "logger": "app.module", "message": "found 3",
        "task_id": handle.id, "task_name": "monday", "attempt": 1, "rows": 3,
    }  # fmt: skip
    assert not set(TASK_FIELDS) & set(outside)


@pytest.mark.parametrize("capture", [True, False])
def test_the_filter_serves_plain_formats(capture):
    """A format with the fields works inside of tasks and outside."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(TaskFieldsFilter(missing="-"))
    handler.setFormatter(logging.Formatter("%(task_name)s/%(attempt)s %(message)s"))
    logger = logging.getLogger("app")
    logger.addHandler(handler)
    try:
        with Controller(capture=capture) as controller:
            controller.submit(speak, name="monday").result()
        logger.warning("outside")
    finally:
        logger.removeHandler(handler)
    assert stream.getvalue().splitlines() == ["monday/1 found 3", "-/- outside"]


def test_records_of_the_library_about_a_task_carry_it_too(lines):
    """The warning that a task failed, and that a launch did."""

    class NoWorkers:
        name = "none"

        def check(self, *args):
            pass

        def launch(self, *args):
            raise RuntimeError("no worker")

        def close(self):
            pass

    with Controller(executor=NoWorkers()) as controller:
        handle = controller.submit(speak, retry=RetryPolicy(max_attempts=1))
        handle.wait(10)
    said = lines()
    assert [line["message"].split(" ")[0] for line in said] == ["could", "task"]
    assert {line["task_id"] for line in said} == {handle.id}
    assert {line["attempt"] for line in said} == {1}


def test_a_record_of_a_run_carries_its_id():
    """The pipeline run, where there is one."""
    said = formatted(pipeline_run_id="nightly:1", task_id=None)
    assert said["pipeline_run_id"] == "nightly:1"
    assert "task_id" not in said


def test_time_is_utc_to_the_microsecond():
    """In ISO 8601, with its zone."""
    assert formatted(created=1.5)["time"] == "1970-01-01T00:00:01.500000Z"


def test_an_exception_is_told_with_its_traceback():
    """On the same line."""
    try:
        raise ZeroDivisionError("division by zero")
    except ZeroDivisionError:
        said = formatted(msg="no", exc_info=sys.exc_info(), stack_info="Stack:\n  here")
    assert said["exception"].startswith("Traceback")
    assert said["exception"].endswith("ZeroDivisionError: division by zero")
    assert said["stack"] == "Stack:\n  here"


class Rude:
    """Cannot be looked at."""

    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


RING = []
RING.append(RING)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"msg": "%d of %d", "args": ("one",)}, id="args"),
        pytest.param({"msg": "%s", "args": (Rude(),)}, id="rude-arg"),
        pytest.param({"msg": Rude()}, id="rude-message"),
        pytest.param({"msg": "x", "rude": Rude()}, id="rude-extra"),
        pytest.param({"msg": "x", "ring": RING}, id="ring"),
        pytest.param({"msg": "x", "nan": float("nan")}, id="nan"),
        pytest.param({"msg": "x", "keys": {(1, 2): 3}}, id="keys"),
        pytest.param({"msg": "x", "bytes": b"\xff", "what": object()}, id="bytes"),
        pytest.param({"msg": "two\nlines\u2028three\x85four"}, id="line-ends"),
        pytest.param({"msg": "half \udc80 of a pair"}, id="surrogate"),
        pytest.param({"msg": "x", "exc_info": True}, id="exc-info"),
        pytest.param({"msg": "x", "exc_info": ("not", "an", "exception")}, id="no-exception"),
        pytest.param({"msg": "x", "created": float("inf")}, id="for-ever"),
        pytest.param({"msg": "x", "created": "yesterday", "levelname": Rude()}, id="rude-level"),
        pytest.param({"msg": None, "name": None}, id="nothing"),
    ],
)
def test_the_formatter_never_raises(fields):
    """Whatever is in the record: one line of strict JSON comes out."""
    said = formatted(**fields)
    assert "message" in said


def test_extras_do_not_cover_what_is_ours():
    """They are told beside it."""
    said = formatted(msg="x", levelname="INFO", time="noon", level=3)
    assert (said["level"], said["extra_level"], said["extra_time"]) == ("INFO", 3, "noon")


def test_it_is_set_up_by_a_configuration(capsys):
    """With constant fields for every record."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"task": {"()": "chongming_task.observability.logs.TaskFieldsFilter"}},
            "formatters": {
                "json": {"()": "chongming_task.observability.logs.JsonFormatter", "constant": {"service": "billing"}}
            },
            "handlers": {
                "out": {
                    "class": "logging.StreamHandler",
                    "formatter": "json",
                    "filters": ["task"],
                    "stream": "ext://sys.stdout",
                }
            },
            "loggers": {"configured": {"handlers": ["out"], "level": "INFO", "propagate": False}},
        }
    )
    logging.getLogger("configured").info("up")
    logging.getLogger("configured").handlers.clear()
    said = json.loads(capsys.readouterr().out)
    assert (said["message"], said["service"]) == ("up", "billing")
