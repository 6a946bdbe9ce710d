"""The states, their edges and the verbs, as the tables of ``core/states.py`` have them."""

from __future__ import annotations

import inspect
import re
from math import hypot
from xml.sax.saxutils import escape

from chongming_task.core.states import (
    OCCUPIED,
    REVIVABLE,
    TERMINAL,
    TRANSITIONS,
    VERB_TABLE,
    Outcome,
    Rule,
    TaskStatus,
    Verb,
    VerbRow,
)
from tests.support.page_tables import table

__all__ = ["picture", "statuses", "transitions", "verbs"]

S = TaskStatus


# ---- tables


def statuses() -> str:
    """Every status, what it means, and what follows from it."""
    told = dict(re.findall(r'^    ([A-Z_]+) = "[a-z_]+"(?:  # (.*))?$', inspect.getsource(TaskStatus), re.MULTILINE))
    told["RUNNING"] = told["RUNNING"] or "user code runs"
    told["SUCCEEDED"] = told["SUCCEEDED"] or "ended, and its value is kept"
    return table(
        ("status", "meaning", "it has ended", "holds a worker", "`retry` leads on"),
        ((f"**{s.name}**", told[s.name], _yes(s in TERMINAL), _worker(s), _yes(s in REVIVABLE)) for s in S),
    )


def _yes(so: bool) -> str:
    return "yes" if so else ""


def _worker(status: TaskStatus) -> str:
    return "if paused in place" if status is S.PAUSED else _yes(status in OCCUPIED)


def transitions() -> str:
    """Every edge."""
    return table(
        ("from", "to"),
        ((f"**{s.name}**", " ".join(t.name for t in S if t in TRANSITIONS[s])) for s in S if TRANSITIONS[s]),
    )


def verbs() -> str:
    """What every verb does in every state."""
    return table(
        ("", *(f"`{verb}`" for verb in Verb)),
        ((_situation(row), *(_cell(row.rules[verb]) for verb in Verb)) for row in VERB_TABLE),
    )


def _situation(row: VerbRow) -> str:
    held = {None: "", False: ", before its start", True: ", in place"}[row.in_place]
    return f"**{row.status.name}**{held}"


def _cell(rule: Rule) -> str:
    if rule.outcome is Outcome.REFUSED:
        return "✗"
    if rule.outcome is Outcome.NOOP:
        return "·"
    way = f"{rule.through.name} → " if rule.through else ""
    return f"→ {way}{' or '.join(target.name for target in rule.targets)}"


# ---- picture: open states are boxes with arrows between them; in each box stand the ends it can come to

WIDTH, HEIGHT = 176, 62
_PLACES = {  # column, row
    S.PENDING: (0, 1),
    S.BLOCKED: (0, 2),
    S.QUEUED: (1, 1),
    S.STARTING: (2, 1),
    S.RUNNING: (3, 1),
    S.RETRY_WAIT: (2, 0),
    S.PAUSED: (2, 2),
    S.PAUSING: (3, 2),
    S.STOPPING: (3, 3),
}
_COLOURS = {"wait": "#dbe7f5", "work": "#d6efe2", "held": "#fbecc8"}
_HELD = {S.PAUSED, S.PAUSING, S.RETRY_WAIT}


def picture() -> str:
    """The states that have not ended, and the edges between them, as SVG on a ground of its own."""
    boxes = "".join(_box(status) for status in _PLACES)
    arrows = "".join(_arrow(s, t) for s in _PLACES for t in S if t in TRANSITIONS[s] and t in _PLACES)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 490" font-family="sans-serif" role="img" '
        'aria-label="The states of a task that has not ended, and the edges between them">\n'
        "<title>The states of a task that has not ended, and the edges between them</title>\n"
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#4a5560"/></marker></defs>\n'
        '<rect width="960" height="490" rx="10" fill="#fbfcfd"/>\n'
        f"{arrows}{boxes}{_legend()}</svg>\n"
    )


def _corner(status: TaskStatus) -> tuple[float, float]:
    column, row = _PLACES[status]
    return 24 + column * 245, 20 + row * 118


def _box(status: TaskStatus) -> str:
    x, y = _corner(status)
    kind = "held" if status in _HELD else "work" if status in OCCUPIED else "wait"
    ends = [t.value for t in S if t in TRANSITIONS[status] & TERMINAL]
    lines = [", ".join(ends[:3]), ", ".join(ends[3:])]
    texts = "".join(
        f'<text x="{x + WIDTH / 2:g}" y="{y + 38 + 14 * i:g}" font-size="11" text-anchor="middle" fill="#4a5560">'
        f"{escape(line)}</text>"
        for i, line in enumerate(lines)
        if line
    )
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{_COLOURS[kind]}" stroke="#7b8794"/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 20:g}" font-size="14" font-weight="bold" text-anchor="middle" '
        f'fill="#1d2733">{status.name}</text>{texts}\n'
    )


def _arrow(source: TaskStatus, target: TaskStatus) -> str:
    """From border to border, a little beside the straight line, so that there and back are two arrows."""
    (x1, y1), (x2, y2) = _centre(source), _centre(target)
    length = hypot(x2 - x1, y2 - y1)
    across, along = ((y2 - y1) / length, -(x2 - x1) / length), ((x2 - x1) / length, (y2 - y1) / length)
    shift = 9 if source in TRANSITIONS[target] else 0
    x1, y1, x2, y2 = x1 + across[0] * shift, y1 + across[1] * shift, x2 + across[0] * shift, y2 + across[1] * shift
    start, end = _border(source, (x1, y1), along), _border(target, (x2, y2), (-along[0], -along[1]))
    bend = _bend(source, target)
    middle = ((start[0] + end[0]) / 2 + bend[0], (start[1] + end[1]) / 2 + bend[1])
    return (
        f'<path d="M{start[0]:.0f} {start[1]:.0f}Q{middle[0]:.0f} {middle[1]:.0f} {end[0]:.0f} {end[1]:.0f}" '
        'fill="none" stroke="#4a5560" stroke-width="1.4" marker-end="url(#end)"/>\n'
    )


def _centre(status: TaskStatus) -> tuple[float, float]:
    x, y = _corner(status)
    return x + WIDTH / 2, y + HEIGHT / 2


def _border(status: TaskStatus, start: tuple[float, float], way: tuple[float, float]) -> tuple[float, float]:
    """Where a line from within a box leaves it."""
    x, y = _corner(status)
    reaches = []
    for at, step, low, size in ((start[0], way[0], x, WIDTH), (start[1], way[1], y, HEIGHT)):
        if abs(step) > 1e-9:
            reaches.append(((low + size if step > 0 else low) - at) / step)
    reach = min(reaches) + 2
    return start[0] + way[0] * reach, start[1] + way[1] * reach


def _bend(source: TaskStatus, target: TaskStatus) -> tuple[float, float]:
    """Around a box that lies between."""
    return {(S.RUNNING, S.STOPPING): (190, 0), (S.RETRY_WAIT, S.PAUSED): (-210, 0)}.get((source, target), (0, 0))


def _legend() -> str:
    parts = []
    for number, (kind, text) in enumerate(
        {"wait": "waits", "work": "holds a worker", "held": "held, or waits to retry"}.items()
    ):
        x = 24 + number * 145
        parts.append(
            f'<rect x="{x}" y="452" width="14" height="14" rx="3" fill="{_COLOURS[kind]}" stroke="#7b8794"/>'
            f'<text x="{x + 20}" y="463" font-size="12" fill="#4a5560">{text}</text>'
        )
    small = "in small letters: the ends it can come to"
    return "".join(parts) + f'<text x="936" y="463" font-size="12" text-anchor="end" fill="#4a5560">{small}</text>\n'
