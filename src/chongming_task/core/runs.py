"""What a pipeline run is, folded from its nodes, and when it ends early. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TERMINAL, RequestedAction, TaskStatus
from chongming_task.errors import ConfigurationError

__all__ = ["AggregationPolicy", "PipelineRunStatus", "Standing", "blocked_by", "doom_of", "fold", "is_blocked"]

S = TaskStatus


class PipelineRunStatus(StrEnum):
    """Where a run is. Never stored: it follows from the nodes.

    Example:
        >>> PipelineRunStatus.FAILED.is_terminal, PipelineRunStatus.PAUSED.is_terminal
        (True, False)
    """

    PENDING = "pending"  # nothing has started
    RUNNING = "running"
    PAUSED = "paused"  # asked to pause, and nothing runs
    STOPPING = "stopping"  # it will not succeed, and something still runs
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether every node has ended."""
        return self in _ENDED


_ENDED = frozenset(
    {PipelineRunStatus.SUCCEEDED, PipelineRunStatus.FAILED, PipelineRunStatus.STOPPED, PipelineRunStatus.CANCELLED}
)


@dataclass(frozen=True, slots=True)
class AggregationPolicy:
    """What a failed node means for the rest of its run.

    Use ``AggregationPolicy.fail_fast`` (the default), ``AggregationPolicy.all_settled`` or
    ``AggregationPolicy.quorum(n)``.

    Args:
        name: ``"fail_fast"``: the first node that failed or was lost cancels what has not started, and what runs is
            told to stop. ``"all_settled"``: independent branches go on. ``"quorum"``: as all_settled, and the run
            succeeds, once the rest has ended too, when enough of its last nodes do.
        needed: How many nodes that nobody waits for must succeed, for a quorum.

    Raises:
        ConfigurationError: For another name, or a quorum of fewer than one.

    Example:
        >>> AggregationPolicy.quorum(2).needed
        2
    """

    name: str = "fail_fast"
    needed: int = 0

    fail_fast: ClassVar[AggregationPolicy]
    all_settled: ClassVar[AggregationPolicy]

    def __post_init__(self) -> None:
        if self.name == "quorum":
            if type(self.needed) is not int or self.needed < 1:
                raise ConfigurationError(
                    f"quorum takes how many last nodes must succeed, 1 or more, got {self.needed!r}"
                )
        elif self.name not in ("fail_fast", "all_settled") or self.needed:
            raise ConfigurationError(
                "a policy is AggregationPolicy.fail_fast, .all_settled or .quorum(n), "
                f"not {self.name!r:.100} with {self.needed!r:.100}"
            )

    @classmethod
    def quorum(cls, needed: int) -> AggregationPolicy:
        """The run succeeds when ``needed`` of the nodes that nobody waits for do.

        Args:
            needed: How many nodes that nobody waits for must succeed, 1 or more.

        Raises:
            ConfigurationError: For a number below 1.
        """
        return cls("quorum", needed)

    def __str__(self) -> str:
        return f"quorum({self.needed})" if self.name == "quorum" else self.name


AggregationPolicy.fail_fast = AggregationPolicy("fail_fast")
AggregationPolicy.all_settled = AggregationPolicy("all_settled")


class Standing(NamedTuple):
    """What a run's status follows from."""

    counts: Mapping[TaskStatus, int]  # how many nodes are in each status; 0 may be left out
    total: int  # nodes
    sinks: int = 0  # nodes that nobody waits for
    sinks_succeeded: int = 0
    sinks_ended: int = 0  # those that succeeded included
    paused: bool = False  # asked to
    asked: RequestedAction | None = None  # STOP or CANCEL, of the whole run
    failed: bool = False  # a node has, or was lost, since the run was last taken up
    doomed: bool = False  # its policy has given it up


def doom_of(policy: AggregationPolicy, standing: Standing) -> bool:
    """Whether the policy gives the run up: what has not ended has no point any more."""
    if policy.name == "fail_fast":
        return standing.failed
    if policy.name == "quorum":
        return standing.sinks_succeeded + (standing.sinks - standing.sinks_ended) < policy.needed
    return False


def fold(policy: AggregationPolicy, standing: Standing) -> PipelineRunStatus:
    """The status of a run."""
    counts = standing.counts
    ended = sum(counts.get(status, 0) for status in TERMINAL)
    if ended == standing.total:
        return _end(policy, standing)
    if standing.asked is not None or standing.doomed:
        return PipelineRunStatus.STOPPING
    active = sum(counts.get(status, 0) for status in _ACTIVE)
    if standing.paused and not active:
        return PipelineRunStatus.PAUSED
    waiting = counts.get(S.PENDING, 0) + counts.get(S.BLOCKED, 0) + counts.get(S.QUEUED, 0)
    return PipelineRunStatus.PENDING if waiting == standing.total else PipelineRunStatus.RUNNING


_ACTIVE = (S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING)


def _failures(counts: Mapping[TaskStatus, int]) -> int:
    return counts.get(S.FAILED, 0) + counts.get(S.LOST, 0)


def _end(policy: AggregationPolicy, standing: Standing) -> PipelineRunStatus:
    counts = standing.counts
    if policy.name == "quorum":
        if standing.sinks_succeeded >= policy.needed:
            return PipelineRunStatus.SUCCEEDED
        if standing.asked is None or not (counts.get(S.STOPPED, 0) or counts.get(S.CANCELLED, 0)):
            return PipelineRunStatus.FAILED
    if _failures(counts):
        return PipelineRunStatus.FAILED
    if counts.get(S.STOPPED, 0):
        return PipelineRunStatus.STOPPED
    if counts.get(S.CANCELLED, 0):
        return PipelineRunStatus.CANCELLED
    return PipelineRunStatus.SUCCEEDED


def blocked_by(cause: TaskSnapshot) -> Failure:
    """Why a node that waited for ``cause`` cannot start."""
    verb = {S.FAILED: "failed", S.LOST: "was lost", S.STOPPED: "was stopped"}.get(cause.status, "was cancelled")
    why = cause.failure.message.strip().partition("\n")[0][:200] if cause.failure is not None else ""
    said = f"upstream {cause.node or cause.name!r} {verb}"
    return Failure(FailureKind.DEPENDENCY_FAILED, f"{said}: {why}" if why else said)


def is_blocked(task: TaskSnapshot) -> bool:
    """Whether a node was cancelled because of what it waits for."""
    failure = task.failure
    return task.status is S.CANCELLED and failure is not None and failure.kind is FailureKind.DEPENDENCY_FAILED
