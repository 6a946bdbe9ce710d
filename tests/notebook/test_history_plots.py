"""Pictures of a frame of tasks."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from chongming_task import ConfigurationError
from chongming_task.core.states import TaskStatus
from chongming_task.history import plot_durations, plot_throughput, plot_waiting, snapshots_to_frame
from tests.notebook.sample_tasks import NOW, ago, ended, one_of_each, task

PLOTS = [plot_durations, plot_waiting, plot_throughput]


@pytest.fixture
def axis():
    """An axis of our own, without a window."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.use("agg")
    yield plt.subplots()[1]
    plt.close("all")


@pytest.fixture
def tasks() -> pd.DataFrame:
    """Ten that took one to five seconds after a wait of as many, of two names; two failed."""
    made = [
        ended(
            n,
            f"step {n % 2}",
            TaskStatus.FAILED if n < 2 else TaskStatus.SUCCEEDED,
            0,
            queued_at=ago(100 - n),
            started_at=ago(100 - 2 * n),
            ended_at=ago(100 - 3 * n),
        )
        for n in range(10)
    ]
    return snapshots_to_frame([*made, task(99, "not yet")])


@pytest.mark.plot
@pytest.mark.parametrize("plot", PLOTS)
def test_a_plot_gives_an_axis(axis, tasks, plot):
    """The one that was given, or a new one; of any frame of tasks, also of an empty one."""
    assert plot(tasks, ax=axis) is axis
    assert axis.get_xlabel()
    assert axis.get_ylabel()
    for frame in (snapshots_to_frame(one_of_each()), snapshots_to_frame([])):
        assert plot(frame) is not axis


@pytest.mark.plot
@pytest.mark.parametrize("plot", [plot_durations, plot_waiting])
def test_boxes_are_sorted_by_their_middle(axis, tasks, plot):
    """A row for each group, the slowest on top."""
    plot(tasks, ax=axis)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["step 0", "step 1"]
    assert "seconds" in axis.get_xlabel()


@pytest.mark.plot
def test_throughput_counts_every_end(axis, tasks):
    """A line for each status; the sums are the tasks that ended so."""
    plot_throughput(tasks, every="5s", ax=axis)
    counted = {line.get_label(): int(sum(line.get_ydata())) for line in axis.get_lines()}
    assert counted == {"succeeded": 8, "failed": 2}
    assert axis.get_ylabel() == "tasks ended per 5 s"


@pytest.mark.plot
@pytest.mark.parametrize("plot", PLOTS)
def test_another_frame_is_refused(axis, plot):
    """By the column that it lacks."""
    with pytest.raises(ConfigurationError, match="the frame has no column"):
        plot(pd.DataFrame({"x": [NOW]}), ax=axis)


def test_without_matplotlib_it_says_what_to_install():
    """As on a machine where it is not installed."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from chongming_task.errors import ConfigurationError\n"
        "from chongming_task.history import plot_durations, snapshots_to_frame\n"
        "try:\n    plot_durations(snapshots_to_frame([]))\n"
        "except ConfigurationError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert 'needs matplotlib.pyplot, which is not installed. Run: pip install "chongming-task[plot]"' in done.stdout
