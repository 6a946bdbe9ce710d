"""Finds loops in tasks that never reach a checkpoint: see :mod:`chongming_task.api.checkpoint_lint`.

Example:
    >>> from chongming_task.checkpoint_lint import format_findings, lint_source
    >>> print(format_findings(lint_source("x = 1")))
    <BLANKLINE>
"""

from chongming_task.api.checkpoint_lint import CheckpointWarning, Finding, format_findings, lint_function, lint_source

__all__ = ["CheckpointWarning", "Finding", "format_findings", "lint_function", "lint_source"]
