"""Pipelines of 100 000 nodes: how long, in how much memory, and how soon others are heard meanwhile.

Each runs in a new process with a recursion limit of 300, on the memory store and the default executor. The aims: 90
seconds, 1.2 GB, and 95 of 100 stops of other records within half a second.

make bench ARGS="-k pipeline -s"      prints the figures; CHONGMING_PIPELINE_NODES says how many nodes
"""

from __future__ import annotations

import faulthandler
import os

import pytest

from tests.support.shapes import SHAPES, tell_apart

NODES = int(os.environ.get("CHONGMING_PIPELINE_NODES", "100000"))

pytestmark = pytest.mark.timeout(360)


@pytest.mark.parametrize("shape", SHAPES)
def bench_pipeline(benchmark, shape):
    """From the first ``add`` to the end of the run."""
    faulthandler.cancel_dump_traceback_later()  # which takes what lasts as long as this for stuck
    story = benchmark.pedantic(tell_apart, (shape, NODES), {"timeout": 300}, rounds=1)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"\n{shape} of {NODES}: {story.status} after {story.seconds:.1f} s (declared {story.declare_seconds:.1f}, "
        f"submitted {story.submit_seconds:.1f}, ran {story.run_seconds:.1f}); at most {story.peak_mib:.0f} MiB; "
        f"load {load} on {os.cpu_count()} cores"
    )
    print(
        f"{story.answered} stops of others meanwhile: median {story.median_ms:.1f} ms, p95 {story.p95_ms:.1f} ms, "
        f"at most {story.most_ms:.0f} ms"
    )
    assert story.complete
