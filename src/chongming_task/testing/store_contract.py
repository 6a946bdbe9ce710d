"""What every store must do. Subclass it under pytest, and say how yours is made.

    class TestMyStore(StoreContract):
        def make_store(self):
            return MyStore()

The tests are plain methods with plain asserts. None of them waits for time to pass: leases are compared with a time
that the caller names. See ``docs/store-guide.md`` for the reasons.
"""

from __future__ import annotations

from chongming_task.testing.store_contract_output import OutputContract
from chongming_task.testing.store_contract_owners import OwnersContract
from chongming_task.testing.store_contract_records import RecordsContract
from chongming_task.testing.store_contract_scan import ScanContract
from chongming_task.testing.store_contract_sharing import SharingContract
from chongming_task.testing.store_contract_threads import ThreadsContract

__all__ = ["StoreContract"]


class StoreContract(RecordsContract, ScanContract, OutputContract, OwnersContract, SharingContract, ThreadsContract):
    """The contract of :class:`~chongming_task.core.ports.TaskStore`; see the module for how to use it.

    Example:
        >>> from chongming_task import MemoryTaskStore
        >>> class TestMyStore(StoreContract):
        ...     def make_store(self):
        ...         return MemoryTaskStore()
        >>> len([name for name in dir(TestMyStore) if name.startswith("test_")]) > 50
        True
    """
