"""What all processes on a store must agree on, and what they are told when they do not."""

from __future__ import annotations

from chongming_task.errors import ConfigurationError

__all__ = ["SCHEMA_VERSION", "check_agreement"]

SCHEMA_VERSION = 2  # what every store keeps, and how; each .sql file has a migration to each


def check_agreement(name: str, held: str, wanted: str) -> None:
    """Refuse a constant that differs from what the store holds.

    Raises:
        ConfigurationError: Naming both values, and what to do.
    """
    if held != wanted:
        raise ConfigurationError(
            f"{name} is {wanted} here, but {held} in the store, where it was fixed by the first to use it. All"
            f" processes on one store must agree: use {held}, or a store of your own"
        )
