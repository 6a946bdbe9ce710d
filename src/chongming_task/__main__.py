"""``python -m chongming_task``: the command line."""

from __future__ import annotations

import sys

from chongming_task.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
