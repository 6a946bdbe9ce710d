"""What a script pays for `import chongming_task`."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("code", ["pass", "import chongming_task"], ids=["bare-interpreter", "with-import"])
def bench_import(benchmark, code):
    """A new interpreter each round; the difference of the two is the price."""
    benchmark(lambda: subprocess.run([sys.executable, "-c", code], check=True))
