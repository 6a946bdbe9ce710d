"""A pipeline as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from chongming_task.core.states import TaskStatus

if TYPE_CHECKING:
    from chongming_task.api.declared import Declared

__all__ = ["to_mermaid"]

_LOOKS: Mapping[TaskStatus, str] = {
    TaskStatus.SUCCEEDED: "fill:#d7f0dd,stroke:#1a7f37",
    TaskStatus.FAILED: "fill:#ffd7d5,stroke:#cf222e",
    TaskStatus.LOST: "fill:#ffd7d5,stroke:#cf222e,stroke-dasharray:4",
    TaskStatus.RUNNING: "fill:#d6e8ff,stroke:#0969da",
    TaskStatus.PAUSED: "fill:#fff3c4,stroke:#9a6700",
    TaskStatus.SKIPPED: "fill:#eeeeee,stroke:#8c8c8c,stroke-dasharray:4",
    TaskStatus.CANCELLED: "fill:#eeeeee,stroke:#8c8c8c",
    TaskStatus.STOPPED: "fill:#eeeeee,stroke:#8c8c8c",
}


def to_mermaid(nodes: Iterable[Declared], statuses: Mapping[str, TaskStatus] | None = None) -> str:
    """The chart.

    Args:
        nodes: The steps.
        statuses: How they stand, by name; None: without colours.
    """
    declared = list(nodes)
    numbers = {each.node.name: number for number, each in enumerate(declared)}
    lines = ["flowchart LR"]
    for number, each in enumerate(declared):
        left, right = ("[[", "]]") if each.fan is not None else ("[", "]")
        status = None if statuses is None else statuses.get(each.node.name)
        said = _text(each.node.name) + ("" if status is None else f"<br/>{status}")
        lines.append(f'    n{number}{left}"{said}"{right}' + ("" if status not in _LOOKS else f":::{status}"))
    for number, each in enumerate(declared):
        arrow = "-->" if each.when is None else "-. when .->"
        lines += [f"    n{numbers[name]} {arrow} n{number}" for name in each.deps if name in numbers]
    if statuses is not None:
        used = set(statuses.values())
        lines += [f"    classDef {status} {look}" for status, look in _LOOKS.items() if status in used]
    return "\n".join(lines)


_CODES = str.maketrans({"#": "#35;", "&": "#amp;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "`": "#96;"})


def _text(name: str) -> str:
    """A name as Mermaid shows it: as text on one line, whatever it holds."""
    return " ".join(name.split()).translate(_CODES)
