"""Launch, watch and steer tasks and pipelines, from a notebook, a shell or any Python process.

Layers, each importing only from those below it:

    cli, notebook                        what people touch
    api                                  tasks, controller, handles, pipelines
    history                              what a store remembers, as pandas frames
    runtime | stores | observability     engine and workers; where records are kept; who else is told
    core                                 states, rules, records, ports: pure
    errors

``import chongming_task`` loads the standard library only.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from chongming_task.api.closing import CloseReport
from chongming_task.api.controller import Controller
from chongming_task.api.handle import TaskHandle
from chongming_task.api.health import Health
from chongming_task.api.recovery import ReconcileReport
from chongming_task.api.registry import TaskRegistry
from chongming_task.api.run_task import run_task
from chongming_task.api.task import TaskFunction, TaskSpec, task
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.policies import (
    BucketPolicy,
    ConcurrencyPolicy,
    ExponentialBackoff,
    FixedBackoff,
    NoBackoff,
    RetryPolicy,
    TaskPolicy,
    Timeout,
)
from chongming_task.core.records import AttemptRecord, OutputLine, Progress, TaskSnapshot, Transition
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.states import RequestedAction, TaskStatus, Verb
from chongming_task.errors import (
    AttemptsExhausted,
    ConcurrencyConflict,
    ConfigurationError,
    ControllerClosed,
    EventsLost,
    InvalidTransition,
    NotRestartable,
    NotWatched,
    ResultInvalid,
    ResultUnavailable,
    StillRunning,
    StoreError,
    StoreWarning,
    TaskCancelled,
    TaskError,
    TaskExecutionError,
    TaskTimeout,
    UnknownInput,
    UnknownTask,
)
from chongming_task.runtime.context import TaskContext, current_context
from chongming_task.runtime.engine import Answer
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.executors.thread import ThreadExecutor
from chongming_task.runtime.results import ResultCodec
from chongming_task.stores.memory import MemoryTaskStore

if TYPE_CHECKING:
    from chongming_task.api.attach import Attached
    from chongming_task.api.completion import as_completed
    from chongming_task.api.pipeline import Node, Pipeline
    from chongming_task.api.pipeline_run import PipelineRun, RunSummary
    from chongming_task.core.events import (
        AdminOverride,
        AttemptEnded,
        AttemptFailed,
        AttemptStarted,
        Event,
        PipelineRunStatusChanged,
        ProgressUpdated,
        TaskCreated,
        TaskEmitted,
        TaskHeartbeat,
        TaskLogLine,
        TaskOutput,
        TaskStatusChanged,
    )
    from chongming_task.core.graph import JoinMode
    from chongming_task.core.hooks import Hooks
    from chongming_task.core.runs import AggregationPolicy, PipelineRunStatus
    from chongming_task.core.telemetry import MetricsSink, Tracer
    from chongming_task.history import History as History  # not in __all__: whoever imports * may have no pandas
    from chongming_task.runtime.executors.dask import DaskExecutor
    from chongming_task.runtime.executors.process import ProcessExecutor
    from chongming_task.stores.postgres import PostgresTaskStore
    from chongming_task.stores.sqlite import SqliteTaskStore

__version__ = "0.1.0"

__all__ = [
    "AdminOverride",
    "AggregationPolicy",
    "Answer",
    "Attached",
    "AttemptEnded",
    "AttemptFailed",
    "AttemptRecord",
    "AttemptStarted",
    "AttemptsExhausted",
    "BucketPolicy",
    "CloseReport",
    "ConcurrencyConflict",
    "ConcurrencyPolicy",
    "ConfigurationError",
    "Controller",
    "ControllerClosed",
    "DaskExecutor",
    "Event",
    "EventsLost",
    "ExponentialBackoff",
    "Failure",
    "FailureKind",
    "FixedBackoff",
    "Health",
    "Hooks",
    "InlineExecutor",
    "InvalidTransition",
    "JoinMode",
    "MemoryTaskStore",
    "MetricsSink",
    "NoBackoff",
    "Node",
    "NotRestartable",
    "NotWatched",
    "OutputLine",
    "Pipeline",
    "PipelineRun",
    "PipelineRunStatus",
    "PipelineRunStatusChanged",
    "PostgresTaskStore",
    "ProcessExecutor",
    "Progress",
    "ProgressUpdated",
    "ReconcileReport",
    "RequestedAction",
    "ResultCodec",
    "ResultInvalid",
    "ResultUnavailable",
    "RetryPolicy",
    "RunSummary",
    "SqliteTaskStore",
    "StateMachine",
    "StillRunning",
    "StoreError",
    "StoreWarning",
    "TaskCancelled",
    "TaskContext",
    "TaskCreated",
    "TaskEmitted",
    "TaskError",
    "TaskExecutionError",
    "TaskFunction",
    "TaskHandle",
    "TaskHeartbeat",
    "TaskLogLine",
    "TaskOutput",
    "TaskPolicy",
    "TaskRegistry",
    "TaskSnapshot",
    "TaskSpec",
    "TaskStatus",
    "TaskStatusChanged",
    "TaskTimeout",
    "ThreadExecutor",
    "Timeout",
    "Tracer",
    "Transition",
    "UnknownInput",
    "UnknownTask",
    "Verb",
    "__version__",
    "as_completed",
    "current_context",
    "run_task",
    "task",
]


_EVENTS = (
    "AdminOverride",
    "AttemptEnded",
    "AttemptFailed",
    "AttemptStarted",
    "Event",
    "PipelineRunStatusChanged",
    "ProgressUpdated",
    "TaskCreated",
    "TaskEmitted",
    "TaskHeartbeat",
    "TaskLogLine",
    "TaskOutput",
    "TaskStatusChanged",
)
_LAZY = {  # who does not ask for them does not wait for them
    "Attached": "chongming_task.api.attach",
    "DaskExecutor": "chongming_task.runtime.executors.dask",
    "PostgresTaskStore": "chongming_task.stores.postgres",
    "ProcessExecutor": "chongming_task.runtime.executors.process",
    "SqliteTaskStore": "chongming_task.stores.sqlite",
    "Node": "chongming_task.api.pipeline",
    "Pipeline": "chongming_task.api.pipeline",
    "PipelineRun": "chongming_task.api.pipeline_run",
    "RunSummary": "chongming_task.api.pipeline_run",
    "AggregationPolicy": "chongming_task.core.runs",
    "PipelineRunStatus": "chongming_task.core.runs",
    "History": "chongming_task.history",
    "JoinMode": "chongming_task.core.graph",
    "Hooks": "chongming_task.core.hooks",
    "MetricsSink": "chongming_task.core.telemetry",
    "Tracer": "chongming_task.core.telemetry",
    "as_completed": "chongming_task.api.completion",
} | dict.fromkeys(_EVENTS, "chongming_task.core.events")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext chongming_task``: the magics ``%%task`` and ``%tasks``, see ``docs/magics.md``.

    Raises:
        ConfigurationError: When the ``notebook`` extra is not installed.
    """
    from chongming_task.notebook.magics import load  # needs IPython, which is there when it calls

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext chongming_task``: takes the magics away; tasks go on."""
    from chongming_task.notebook.magics import unload

    unload(ipython)
