"""Turns what the engine did into the events subscribers see. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from chongming_task.core.events import (
    AdminOverride,
    AttemptFailed,
    AttemptStarted,
    Event,
    PipelineRunStatusChanged,
    ProgressUpdated,
    TaskCreated,
    TaskEmitted,
    TaskLogLine,
    TaskOutput,
    TaskStatusChanged,
)
from chongming_task.core.ports import Emitted
from chongming_task.core.records import OutputLine, Progress, TaskSnapshot, Transition
from chongming_task.core.rules import Step
from chongming_task.core.states import TaskStatus
from chongming_task.runtime.ids import new_id

__all__ = ["created", "emitted", "moved", "progressed", "run_moved", "wrote"]


def created(task: TaskSnapshot) -> TaskCreated:
    """A record was accepted."""
    return TaskCreated(event_id=f"{task.task_id}/0", at=task.created_at, task_id=task.task_id, snapshot=task)


def moved(before: TaskSnapshot, made: Step) -> list[Event]:
    """A step, edge by edge."""
    events: list[Event] = []
    for edge in made.transitions:
        events.append(_changed(edge))
        if edge.to_status is TaskStatus.RUNNING and edge.from_status is TaskStatus.STARTING:
            events.append(
                AttemptStarted(
                    event_id=f"{edge.task_id}/{edge.version}/attempt",
                    at=edge.at,
                    task_id=edge.task_id,
                    attempt=made.snapshot.attempt,
                )
            )
        if edge.trigger == "force:override":
            events.append(
                AdminOverride(
                    event_id=f"{edge.task_id}/{edge.version}/override",
                    at=edge.at,
                    task_id=edge.task_id,
                    from_status=edge.from_status,
                    to_status=edge.to_status,
                    actor=edge.actor,
                    reason=edge.reason or "",
                )
            )
    attempt = made.attempt
    if attempt is not None and attempt.failure is not None and attempt.ended_at is not None:
        events.append(
            AttemptFailed(
                event_id=f"{attempt.task_id}/{made.snapshot.status_version}/failed",
                at=attempt.ended_at,
                task_id=attempt.task_id,
                attempt=attempt.attempt,
                failure=attempt.failure,
            )
        )
    return events


def _changed(edge: Transition) -> TaskStatusChanged:
    return TaskStatusChanged(
        event_id=f"{edge.task_id}/{edge.version}",
        at=edge.at,
        task_id=edge.task_id,
        from_status=edge.from_status,
        to_status=edge.to_status,
        trigger=edge.trigger,
        actor=edge.actor,
        reason=edge.reason,
        version=edge.version,
    )


def progressed(task: TaskSnapshot, progress: Progress, at: datetime) -> ProgressUpdated:
    """A task came further."""
    return ProgressUpdated(event_id=new_id(), at=at, task_id=task.task_id, progress=progress)


def emitted(task: TaskSnapshot, report: Emitted, at: datetime) -> TaskEmitted:
    """A task said something of its own."""
    return TaskEmitted(event_id=new_id(), at=at, task_id=task.task_id, kind=report.kind, payload=report.payload)


def run_moved(run_id: str, before: str, now: str, at: datetime) -> PipelineRunStatusChanged:
    """A pipeline run changed its status."""
    return PipelineRunStatusChanged(event_id=new_id(), at=at, task_id=run_id, from_status=before, to_status=now)


def wrote(lines: Sequence[OutputLine]) -> list[TaskOutput | TaskLogLine]:
    """A task wrote or logged."""
    return [_wrote(line) for line in lines]


def _wrote(line: OutputLine) -> TaskOutput | TaskLogLine:
    task_id, attempt, seq, stream, text, at, level = line
    event_id = f"{task_id}/output/{seq}"
    if level is not None:
        return TaskLogLine(event_id=event_id, at=at, task_id=task_id, attempt=attempt, seq=seq, level=level, text=text)
    return TaskOutput(event_id=event_id, at=at, task_id=task_id, attempt=attempt, seq=seq, stream=stream, text=text)
