"""Finds loops in tasks that never reach a checkpoint: such a task can be neither paused nor stopped.

It reads source and runs none of it. Also as ``chongming-task lint`` and ``@task(strict=True)``.

Example:
    >>> from chongming_task.checkpoint_lint import format_findings, lint_source
    >>> print(format_findings(lint_source("x = 1")))
    <BLANKLINE>
"""

from chongming_task.api.checkpoint_lint import CheckpointWarning, Finding, format_findings, lint_function, lint_source

__all__ = ["CheckpointWarning", "Finding", "format_findings", "lint_function", "lint_source"]
