"""Where business keys fall, and whether this controller takes what falls there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chongming_task.core.policies import BucketPolicy
from chongming_task.core.ports import TaskStore
from chongming_task.errors import ConfigurationError, StoreError
from chongming_task.runtime.steward import Steward

__all__ = ["Buckets"]

_NUM_BUCKETS = "num_buckets"  # what a deployment agrees on in its store


class Buckets:
    """The buckets of a deployment, as one controller sees them.

    Args:
        policy: What the caller says; None: as the store has it, else the default.
        owned: Those this controller takes; None: all.
        store: Where a deployment agrees on their number. The first to use them decides.

    Raises:
        ConfigurationError: For another number than the store's, or owned buckets outside of it.
        StoreError: When what the store holds is no number of buckets.
    """

    def __init__(self, policy: Any, owned: Iterable[int] | None, store: TaskStore) -> None:
        if policy is not None and not isinstance(policy, BucketPolicy):
            raise ConfigurationError(f"bucket_policy takes a BucketPolicy, got {policy!r:.100}")
        if policy is None:
            policy = _agreed_on(store)
            explicit = False
        else:
            explicit = True
        self.policy: BucketPolicy = policy
        self.owned = None if owned is None else policy.checked(owned)
        self.steward: Steward | None = None  # holds the leases, where others share the store
        self._store = store
        self._agreed = False
        if explicit or owned is not None:
            self._agree()

    def _agree(self) -> None:
        if not self._agreed:
            self._store.fix_meta(_NUM_BUCKETS, str(self.policy.num_buckets))
            self._agreed = True

    def of(self, key: str | None) -> int | None:
        """The bucket of a submission.

        Raises:
            ConfigurationError: When this controller does not take it; or for a key that is no text.
        """
        if key is None:
            return None
        if not isinstance(key, str):
            raise ConfigurationError(f"bucket_key must be text, got {key!r:.100}")
        self._agree()
        bucket = self.policy.bucket_for(key)
        self.check(bucket, f"bucket_key {key!r}", "submit it")
        return bucket

    def check(self, bucket: int | None, said: str, verb: str) -> None:
        """Refuse work of a bucket that is not this controller's.

        Raises:
            ConfigurationError: Naming whose it is.
        """
        if bucket is None or self.owned is None:
            return
        if bucket not in self.owned:
            raise ConfigurationError(
                f"{said} falls into bucket {bucket}, which this controller does not own; "
                f"{verb} where that bucket is owned"
            )
        if self.steward is not None and not self.steward.holds(bucket):
            holders = {lease.bucket: lease.owner for lease in self._store.bucket_leases()}
            raise ConfigurationError(
                f"{said} falls into bucket {bucket}, which {holders.get(bucket, 'nobody')} holds now; {verb} there, or "
                "give each controller buckets of its own (see audit_buckets())"
            )


def _agreed_on(store: TaskStore) -> BucketPolicy:
    fixed = store.meta().get(_NUM_BUCKETS)
    try:
        return BucketPolicy() if fixed is None else BucketPolicy(int(fixed))
    except ValueError:
        raise StoreError(f"the store holds num_buckets = {fixed!r:.50}, which is no number of buckets") from None
