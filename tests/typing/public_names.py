"""Must type-check under mypy --strict; never run."""

import chongming_task

package: str = chongming_task.__name__
