"""Turns what the engine did into the events subscribers see. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

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
from chongming_task.core.ports import Emitted
from chongming_task.core.records import AttemptRecord, OutputLine, Progress, TaskSnapshot, Transition
from chongming_task.core.rules import Step
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.ids import new_id

__all__ = [
    "attempt_ended",
    "beat",
    "created",
    "edge_events",
    "emitted",
    "moved",
    "progressed",
    "run_moved",
    "wrote",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def created(task: TaskSnapshot) -> TaskCreated:
    """A record was accepted."""
    return TaskCreated(
        event_id=f"{task.task_id}/0",
        at=task.created_at,
        task_id=task.task_id,
        pipeline_run_id=task.pipeline_run_id,
        tags=task.tags,
        snapshot=task,
    )


def moved(before: TaskSnapshot, made: Step) -> list[Event]:
    """A step, edge by edge."""
    events: list[Event] = []
    after, attempt = made.snapshot, made.attempt
    for edge in made.transitions:
        events += edge_events(after, edge, after.attempt)
    if attempt is not None and attempt.ended_at is not None:
        events.append(attempt_ended(after, attempt, after.status_version))
    return events


def edge_events(task: TaskSnapshot, edge: Transition, attempt: int) -> list[Event]:
    """What one edge tells, for a subscriber and from the store alike.

    Args:
        task: Whose edge it is.
        edge: The edge.
        attempt: The attempt it belongs to.
    """
    events: list[Event] = [_changed(task, edge)]
    if edge.to_status is TaskStatus.RUNNING and edge.from_status is TaskStatus.STARTING:
        events.append(
            AttemptStarted(
                event_id=f"{edge.task_id}/{edge.version}/attempt",
                at=edge.at,
                task_id=edge.task_id,
                pipeline_run_id=task.pipeline_run_id,
                tags=task.tags,
                attempt=attempt,
            )
        )
    if edge.trigger == "force:override":
        events.append(
            AdminOverride(
                event_id=f"{edge.task_id}/{edge.version}/override",
                at=edge.at,
                task_id=edge.task_id,
                pipeline_run_id=task.pipeline_run_id,
                tags=task.tags,
                from_status=edge.from_status,
                to_status=edge.to_status,
                actor=edge.actor,
                reason=edge.reason or "",
            )
        )
    return events


def _changed(task: TaskSnapshot, edge: Transition) -> TaskStatusChanged:
    return TaskStatusChanged(
        event_id=f"{edge.task_id}/{edge.version}",
        at=edge.at,
        task_id=edge.task_id,
        pipeline_run_id=task.pipeline_run_id,
        tags=task.tags,
        from_status=edge.from_status,
        to_status=edge.to_status,
        trigger=edge.trigger,
        actor=edge.actor,
        reason=edge.reason,
        version=edge.version,
    )


def attempt_ended(task: TaskSnapshot, attempt: AttemptRecord, version: int) -> AttemptEnded:
    """An attempt that is over, by the step that led to that version of the record."""
    assert attempt.ended_at is not None
    how = "ended" if attempt.failure is None else "failed"
    said: dict[str, Any] = {
        "event_id": f"{attempt.task_id}/{version}/{how}",
        "at": attempt.ended_at,
        "task_id": attempt.task_id,
        "pipeline_run_id": task.pipeline_run_id,
        "tags": task.tags,
        "attempt": attempt.attempt,
        "status": attempt.status,
        "seconds": attempt.seconds,
        "paused_seconds": attempt.paused_seconds,
    }
    return AttemptEnded(**said) if attempt.failure is None else AttemptFailed(**said, failure=attempt.failure)


def progressed(task: TaskSnapshot, progress: Progress, at: datetime) -> ProgressUpdated:
    """A task came further."""
    return ProgressUpdated(
        event_id=f"{task.task_id}/progress/{task.attempt}/{_micros(at)}",
        at=at,
        task_id=task.task_id,
        pipeline_run_id=task.pipeline_run_id,
        tags=task.tags,
        progress=progress,
    )


def beat(task: TaskSnapshot, at: datetime) -> TaskHeartbeat:
    """A task passed a checkpoint."""
    return TaskHeartbeat(
        event_id=new_id(), at=at, task_id=task.task_id, pipeline_run_id=task.pipeline_run_id, tags=task.tags
    )


def emitted(task: TaskSnapshot, report: Emitted, at: datetime) -> TaskEmitted:
    """A task said something of its own."""
    return TaskEmitted(
        event_id=new_id(),
        at=at,
        task_id=task.task_id,
        pipeline_run_id=task.pipeline_run_id,
        tags=task.tags,
        kind=report.kind,
        payload=report.payload,
    )


def run_moved(run_id: str, before: str, now: str, at: datetime) -> PipelineRunStatusChanged:
    """A pipeline run changed its status."""
    return PipelineRunStatusChanged(
        event_id=new_id(), at=at, task_id=run_id, pipeline_run_id=run_id, from_status=before, to_status=now
    )


def wrote(task: TaskSnapshot, lines: Sequence[OutputLine]) -> list[TaskOutput | TaskLogLine]:
    """A task wrote or logged."""
    return [_wrote(task, line) for line in lines]


def _wrote(task: TaskSnapshot, line: OutputLine) -> TaskOutput | TaskLogLine:
    task_id, attempt, seq, stream, text, at, level = line
    event_id, run_id, tags = f"{task_id}/output/{seq}", task.pipeline_run_id, task.tags
    if level is not None:
        return TaskLogLine(
            event_id=event_id,
            at=at,
            task_id=task_id,
            pipeline_run_id=run_id,
            tags=tags,
            attempt=attempt,
            seq=seq,
            level=level,
            text=text,
        )
    return TaskOutput(
        event_id=event_id,
        at=at,
        task_id=task_id,
        pipeline_run_id=run_id,
        tags=tags,
        attempt=attempt,
        seq=seq,
        stream=stream,
        text=text,
    )


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
