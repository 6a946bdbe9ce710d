"""Every frame's columns, in order: name, dtype, meaning, and where in a row the value stands.

The frames are built from these tables, and ``docs/history.md`` prints them; a test holds the one to the other. An empty
frame has the same columns with the same dtypes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from chongming_task.core.failures import FailureKind
from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import RequestedAction, TaskStatus

__all__ = [
    "ATTEMPTS",
    "DURATIONS",
    "MOMENT",
    "OUTPUT",
    "RUNS",
    "TABLES",
    "TASKS",
    "TRANSITIONS",
    "Category",
    "Column",
    "Kind",
    "Shape",
]


class Kind(StrEnum):
    """What a column holds: the dtype as pandas writes it."""

    TEXT = "string"
    WHOLE = "Int64"
    NUMBER = "Float64"
    FLAG = "boolean"
    TIME = "datetime64[us, UTC]"
    SPAN = "timedelta64[us]"


@dataclass(frozen=True, slots=True)
class Category:
    """One of a few words."""

    name: str  # of the enum they come from
    words: tuple[str, ...]
    ordered: bool = False

    def __str__(self) -> str:
        return f"category, ordered: {self.name}" if self.ordered else f"category: {self.name}"


class Shape(Enum):
    """How the value stands in the row."""

    PLAIN = auto()
    NAMES = auto()  # a JSON list of texts
    JSON = auto()  # JSON text, shown as it is
    SECONDS = auto()  # a number, to become a duration


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a frame."""

    name: str
    dtype: Kind | Category
    meaning: str
    source: str = ""  # field of the row, "field.part" of JSON; "": computed
    shape: Shape = Shape.PLAIN


STATUS = Category("TaskStatus", tuple(status.value for status in TaskStatus), ordered=True)
ASKED = Category("RequestedAction", tuple(action.value for action in RequestedAction))
FAILURE_KIND = Category("FailureKind", tuple(kind.value for kind in FailureKind))
RUN_STATUS = Category("PipelineRunStatus", tuple(status.value for status in PipelineRunStatus), ordered=True)
STREAM = Category("stream", ("stdout", "stderr", "log"))


def _field(name: str, dtype: Kind | Category, meaning: str, shape: Shape = Shape.PLAIN) -> Column:
    return Column(name, dtype, meaning, name, shape)


_FAILURE = (
    Column("failure_kind", FAILURE_KIND, "what sort of failure it was", "failure.kind"),
    Column("failure_message", Kind.TEXT, "what went wrong", "failure.message"),
    Column("exception_type", Kind.TEXT, "the exception's module and name", "failure.exception_type"),
    Column("exit_code", Kind.WHOLE, "its process's exit code; negative: the signal", "failure.exit_code"),
    Column("retryable", Kind.FLAG, "whether the retry policy may answer the failure", "failure.retryable"),
)
_WAITED = Column("waited", Kind.SPAN, "from queued to started; none while it is queued again")
_DURATION = Column("duration", Kind.SPAN, "from started to ended, pauses included")

TASKS = (
    _field("task_id", Kind.TEXT, "the record's id; ids sort by time of submission"),
    _field("name", Kind.TEXT, "the task's name"),
    _field("spec_name", Kind.TEXT, "the registered task it was made from"),
    _field("pipeline_run_id", Kind.TEXT, "the run it belongs to"),
    _field("node", Kind.TEXT, "its name in the pipeline"),
    _field("tags", Kind.TEXT, "its tags, sorted, with commas between", Shape.NAMES),
    _field("depends_on", Kind.TEXT, "ids of its upstream records, with commas between", Shape.NAMES),
    _field("status", STATUS, "where it is in its life"),
    _field("requested_action", ASKED, "what somebody wants it to become"),
    _field("attempt", Kind.WHOLE, "its current or last attempt; 0 before the first"),
    _field("max_attempts", Kind.WHOLE, "how many attempts it may take"),
    _field("created_at", Kind.TIME, "when it was submitted"),
    _field("queued_at", Kind.TIME, "when it last became ready to run"),
    _field("started_at", Kind.TIME, "when its current or last attempt started"),
    _field("ended_at", Kind.TIME, "when it ended"),
    _field("retry_at", Kind.TIME, "when its back-off ends"),
    _WAITED,
    _DURATION,
    Column("progress_done", Kind.NUMBER, "how far it has come, in its own unit", "progress.done"),
    Column("progress_total", Kind.NUMBER, "how far it has to go", "progress.total"),
    Column("progress_unit", Kind.TEXT, "that unit", "progress.unit"),
    Column("progress_message", Kind.TEXT, "what it says of its progress", "progress.message"),
    Column("progress_updated_at", Kind.TIME, "when it last said so", "progress.updated_at"),
    *_FAILURE,
    _field("priority", Kind.WHOLE, "higher runs first"),
    _field("bucket", Kind.WHOLE, "the bucket it belongs to"),
    _field("bucket_key", Kind.TEXT, "what its bucket was computed from"),
    _field("executor", Kind.TEXT, "what runs it"),
    _field("owner", Kind.TEXT, "the controller process that watches it"),
    _field("pid", Kind.WHOLE, "its process, when it has one of its own"),
    _field("last_heartbeat_at", Kind.TIME, "when its worker was last heard"),
    _field("live", Kind.FLAG, "an attempt of it holds a worker"),
    _field("abandoned", Kind.FLAG, "a worker was given up and may still run"),
    _field("overridden", Kind.FLAG, "its status was set by hand"),
    _field("status_version", Kind.WHOLE, "how many transitions it has made"),
    _field("inputs", Kind.TEXT, "the stored arguments of a restartable task, as JSON", Shape.JSON),
    _field("outcome", Kind.TEXT, "what it returned, as JSON", Shape.JSON),
)

ATTEMPTS = (
    _field("task_id", Kind.TEXT, "the record it is a try of"),
    _field("attempt", Kind.WHOLE, "1 for the first; a reset starts over"),
    _field("status", STATUS, "how it ended; starting or running while it lives"),
    _field("started_at", Kind.TIME, "when it started"),
    _field("ended_at", Kind.TIME, "when it ended"),
    Column("duration", Kind.SPAN, "on a clock that never jumps, pauses included", "seconds", Shape.SECONDS),
    Column("paused", Kind.SPAN, "how long of it was paused", "paused_seconds", Shape.SECONDS),
    *_FAILURE,
    Column("traceback", Kind.TEXT, "the failure's traceback", "failure.traceback"),
    _field("executor", Kind.TEXT, "what ran it"),
    _field("pid", Kind.WHOLE, "its process, when it had one of its own"),
    _field("owner", Kind.TEXT, "the controller process that watched it"),
    _field("note", Kind.TEXT, "what became known too late to count"),
)

TRANSITIONS = (
    _field("task_id", Kind.TEXT, "the record whose status changed"),
    _field("version", Kind.WHOLE, "its status_version from then on; gapless from 1"),
    _field("from_status", STATUS, "what it was"),
    _field("to_status", STATUS, "what it became"),
    _field("trigger", Kind.TEXT, "what caused it, such as user:stop or worker:raised"),
    _field("actor", Kind.TEXT, "who: user, engine, an operator's name"),
    _field("reason", Kind.TEXT, "why, as it was given"),
    _field("at", Kind.TIME, "when"),
)

OUTPUT = (
    _field("task_id", Kind.TEXT, "the record that wrote it"),
    _field("attempt", Kind.WHOLE, "in which attempt"),
    _field("seq", Kind.WHOLE, "counts the record's lines from 1; a gap: lines left out"),
    _field("stream", STREAM, "where it wrote it to"),
    _field("level", Kind.WHOLE, "of a log record, as logging counts: 20 is INFO"),
    _field("text", Kind.TEXT, "the line, without its end"),
    _field("at", Kind.TIME, "when it was complete"),
)

_IDENTITY = frozenset(
    {
        "task_id",
        "name",
        "spec_name",
        "pipeline_run_id",
        "node",
        "tags",
        "depends_on",
        "created_at",
        "priority",
        "bucket",
        "bucket_key",
        "executor",
        "inputs",
    }
)
_TOLD = frozenset(
    {
        "status",
        "requested_action",
        "attempt",
        "queued_at",
        "started_at",
        "ended_at",
        "waited",
        "duration",
        "live",
        "overridden",
        "status_version",
    }
)  # by the trail

MOMENT = (
    *(column for column in TASKS if column.name in _IDENTITY | _TOLD),
    Column("changed_at", Kind.TIME, "when it took that status", "changed_at"),
    Column("trigger", Kind.TEXT, "what had caused it", "trigger"),
    Column("actor", Kind.TEXT, "who had", "actor"),
    Column("reason", Kind.TEXT, "why", "reason"),
)

RUNS = (
    _field("pipeline_run_id", Kind.TEXT, "the run"),
    _field("pipeline", Kind.TEXT, "the name of its pipeline"),
    _field("status", RUN_STATUS, "where it is; follows from its nodes"),
    _field("created_at", Kind.TIME, "when it was submitted"),
    _field("started_at", Kind.TIME, "when its first attempt started"),
    _field("ended_at", Kind.TIME, "when its last node ended; none while it goes on"),
    _DURATION,
    _field("records", Kind.WHOLE, "its nodes, and the tasks of its maps"),
    _field("succeeded", Kind.WHOLE, "how many of them succeeded"),
    _field("failed", Kind.WHOLE, "how many failed or were lost"),
    _field("ended_otherwise", Kind.WHOLE, "how many were stopped, cancelled or skipped"),
    _field("unfinished", Kind.WHOLE, "how many have not ended"),
    _field("attempts", Kind.WHOLE, "how many attempts they took"),
    _field("first_failure", Kind.TEXT, "the node that was first to fail or be lost"),
    _field("why", Kind.TEXT, "what its failure says"),
)

DURATIONS = (
    _field("attempts", Kind.WHOLE, "attempts that ended and whose time is known"),
    _field("failed", Kind.WHOLE, "how many of them did not succeed"),
    _field("total", Kind.SPAN, "their time at work together, pauses left out"),
    _field("mean", Kind.SPAN, "on average"),
    _field("min", Kind.SPAN, "the shortest"),
    _field("median", Kind.SPAN, "half of them took longer"),
    _field("p95", Kind.SPAN, "one in twenty took longer"),
    _field("max", Kind.SPAN, "the longest"),
)

TABLES = {
    "tasks": TASKS,
    "attempts": ATTEMPTS,
    "transitions": TRANSITIONS,
    "output": OUTPUT,
    "at": MOMENT,
    "runs": RUNS,
    "durations": DURATIONS,
}
"""The columns of what each method of ``History`` returns; ``durations`` has those it was grouped by before them."""
