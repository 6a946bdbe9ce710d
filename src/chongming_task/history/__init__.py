"""The history of a store as pandas frames: ``History``, ``snapshots_to_frame``, and plots. Needs an extra: notebook."""

from chongming_task.history.frames import read_parquet, snapshots_to_frame
from chongming_task.history.history import Filters, History
from chongming_task.history.plots import plot_durations, plot_throughput, plot_waiting

__all__ = [
    "Filters",
    "History",
    "plot_durations",
    "plot_throughput",
    "plot_waiting",
    "read_parquet",
    "snapshots_to_frame",
]
