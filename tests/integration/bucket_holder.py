"""A controller that owns some buckets, and submits what it is told; `test_bucket_owners.py` starts and kills it."""

from __future__ import annotations

import logging
import sys

from chongming_task import BucketPolicy, ConfigurationError, Controller

if "pytest" not in sys.modules:  # in a process of its own
    logging.getLogger("chongming_task").addHandler(logging.NullHandler())  # it is told that others hold what it wants


def hold(path: str, first: str, beyond: str, name: str) -> None:
    """Own a range of buckets. For every key that is read, print how its record stands, or why it was refused."""
    controller = Controller(
        store=path,
        owner=name,
        bucket_policy=BucketPolicy(8),
        owned_buckets=range(int(first), int(beyond)),
        lease_ttl=0.3,  # renewed three times in that time; it lives as long as its process all the same
    )
    print("ready", flush=True)
    for line in sys.stdin:
        verb, key = line.split()
        try:
            handle = controller.submit(len, args=("abc",), bucket_key=key, start=verb == "run")
            controller.counts()
            print(handle.wait(timeout=20) if verb == "run" else handle.status, flush=True)
        except ConfigurationError as error:
            print(error, flush=True)
