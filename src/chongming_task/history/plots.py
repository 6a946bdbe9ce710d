"""Pictures of a frame of tasks, on a matplotlib axis. Need the extra ``plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chongming_task.errors import ConfigurationError
from chongming_task.extras import require

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
else:
    pd = require("pandas", "A plot of the history", "notebook")
    np = require("numpy", "A plot of the history", "notebook")

__all__ = ["plot_durations", "plot_throughput", "plot_waiting"]


def plot_durations(tasks: pd.DataFrame, *, by: str = "name", ax: Axes | None = None) -> Axes:
    """How long tasks took, a box for each group, the slowest on top.

    Args:
        tasks: A frame of tasks, such as ``history.tasks()``; those without a duration are left out.
        by: The column that makes the groups.
        ax: Where to draw; default: a new figure.

    Returns:
        The axis.

    Raises:
        ConfigurationError: When matplotlib is not installed, or the frame has no such column.

    Example:
        >>> import matplotlib
        >>> matplotlib.use("agg")  # a notebook has a backend of its own
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     _ = controller.submit(pow, 2, 10).wait(timeout=10)
        ...     axis = plot_durations(controller.history.tasks())
        >>> axis.get_xlabel()
        'how long they took, in seconds'
    """
    return _boxes(_axis(ax), tasks, "duration", by, "how long they took, in seconds")


def plot_waiting(tasks: pd.DataFrame, *, by: str = "name", ax: Axes | None = None) -> Axes:
    """How long tasks waited for a slot once they were ready, a box for each group; see :func:`plot_durations`.

    Args:
        tasks: A frame of tasks.
        by: The column that makes the groups.
        ax: Where to draw; default: a new figure.

    Example:
        >>> import matplotlib
        >>> matplotlib.use("agg")  # a notebook has a backend of its own
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     _ = controller.submit(pow, 2, 10).wait(timeout=10)
        ...     axis = plot_waiting(controller.history.tasks())
        >>> axis.get_xlabel()
        'from queued to started, in seconds'
    """
    return _boxes(_axis(ax), tasks, "waited", by, "from queued to started, in seconds")


def plot_throughput(tasks: pd.DataFrame, *, every: str | None = None, ax: Axes | None = None) -> Axes:
    """How many tasks ended in each stretch of time, one line for each status they ended with.

    Args:
        tasks: A frame of tasks; those that have not ended are left out.
        every: The stretch as pandas writes it, such as ``"10s"`` or ``"1h"``; default: a fiftieth of the whole.
        ax: Where to draw; default: a new figure.

    Returns:
        The axis.

    Raises:
        ConfigurationError: When matplotlib is not installed, or the frame has no such column.

    Example:
        >>> import matplotlib
        >>> matplotlib.use("agg")  # a notebook has a backend of its own
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     _ = controller.submit(pow, 2, 10).wait(timeout=10)
        ...     axis = plot_throughput(controller.history.tasks())
        >>> axis.get_xlabel()
        'time (UTC)'
    """
    ax = _axis(ax)
    _check(tasks, "ended_at", "status")
    ended = tasks[tasks["ended_at"].notna()]
    ax.set_xlabel("time (UTC)")
    if ended.empty:
        ax.set_ylabel("tasks ended")
        return ax
    whole = ended["ended_at"].max() - ended["ended_at"].min()
    step = pd.Timedelta(every) if every is not None else max(whole / 50, pd.Timedelta(milliseconds=1))
    first = ended["ended_at"].min()
    slot = (ended["ended_at"] - first) // step
    slots = np.arange(int(slot.max()) + 1)
    for status in [each for each in ended["status"].cat.categories if (ended["status"] == each).any()]:
        counts = slot[ended["status"] == status].value_counts().reindex(slots, fill_value=0)
        ax.step(list(first + slots * step), list(counts), where="post", label=status)
    ax.set_ylabel(f"tasks ended per {step.total_seconds():g} s")
    ax.set_ylim(bottom=0)
    ax.legend()
    return ax


def _boxes(ax: Axes, tasks: pd.DataFrame, column: str, by: str, label: str) -> Axes:
    _check(tasks, column, by)
    known = tasks[tasks[column].notna() & tasks[by].notna()]
    seconds = known[column].dt.total_seconds()
    groups = {str(name): list(values) for name, values in seconds.groupby(known[by].astype(str))}
    order = sorted(groups, key=lambda name: float(np.median(groups[name])))
    if order:
        ax.boxplot([groups[name] for name in order], orientation="horizontal")
        ax.set_yticks(range(1, len(order) + 1), order)
    ax.set_xlabel(label)
    ax.set_ylabel(by)
    return ax


def _check(tasks: pd.DataFrame, *columns: str) -> None:
    for column in columns:
        if column not in tasks.columns:
            raise ConfigurationError(f"the frame has no column {column!r}; plot a frame of tasks, as history.tasks()")


def _axis(ax: Axes | None) -> Axes:
    pyplot = require("matplotlib.pyplot", "A plot of the history", "plot")
    if ax is not None:
        return ax
    made: Axes = pyplot.subplots()[1]
    return made
