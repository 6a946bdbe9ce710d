"""What must hold of a store that several controllers have shared, whatever happened to them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

from chongming_task.core.ports import TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import Command
from chongming_task.testing import check_audit


def nothing_lost_or_doubled(store: TaskStore) -> None:
    """Every step of every record is told once, in the trails as in the feed; while nobody writes."""
    check_audit(store)
    told = Counter((c.transition.task_id, c.transition.version) for c in store.changes(limit=10_000_000))
    assert max(told.values()) == 1
    assert len(told) == sum(task.status_version for task in store.query(TaskQuery()))


def answered_once(store: TaskStore, acknowledged: Collection[str]) -> list[Command]:
    """All commands: each has an outcome, and is in the trail once if it has changed something, else not at all.

    Args:
        store: Holds them. Each has a reason of its own.
        acknowledged: The reasons of commands whose senders were told that they are stored.
    """
    tasks = store.query(TaskQuery())
    commands = [command for task in tasks for command in store.commands(task.task_id)]
    missing = set(acknowledged) - {command.args["reason"] for command in commands}
    assert not missing, missing
    open_ones = [command for command in commands if command.completed_at is None]
    assert not open_ones, [(command, store.get(command.task_id)) for command in open_ones[:3]]
    effects = Counter(edge.reason for task in tasks for edge in store.transitions(task.task_id))
    for command in commands:
        assert effects[command.args["reason"]] == int(command.outcome.get("acted", False)), command
    return commands


def answers_of(commands: Iterable[Command]) -> dict[str, int]:
    """How often each kind of answer was given."""
    return dict(
        Counter(
            "acted" if outcome.get("acted") else "nothing to do" if outcome["ok"] else outcome["error"]
            for outcome in (command.outcome for command in commands)
        )
    )


def none_ran_twice_at_once(log: Path) -> int:
    """By what attempts wrote when they began and ended: ``id begins|ends nanoseconds``. Gives how many there were."""
    moments: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in log.read_text(encoding="utf-8").splitlines():
        task_id, what, at = line.split()
        moments[task_id].append((int(at), what))
    for task_id, told in moments.items():
        words = [what for _, what in sorted(told)]
        assert words == ["begins", "ends"] * (len(words) // 2), (task_id, sorted(told))
    return sum(len(told) for told in moments.values()) // 2
