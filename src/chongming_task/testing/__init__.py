"""For tests of your own: a fake clock, an executor that obeys by hand, an audit that checks what a store holds,
and the contracts that every executor and every store keep.

With these a whole scenario runs in one thread, in milliseconds, without sleeping::

    clock, executor = FakeClock(), ManualExecutor()
    driver = ManualDriver()
    controller = Controller(clock=clock, executor=executor, driver=driver)
    handle = controller.submit(my_task, timeout=Timeout(per_attempt=60))
    driver.settle()
    executor.of(handle.id).begin()
    clock.advance(61)
    driver.settle()
    assert executor.of(handle.id).stop_reason == "timeout_attempt"
"""

from chongming_task.runtime.driver import ManualDriver
from chongming_task.testing.audit import AuditError, check_audit
from chongming_task.testing.clock import FakeClock
from chongming_task.testing.executor_contract import ExecutorContract
from chongming_task.testing.manual_executor import ManualExecution, ManualExecutor
from chongming_task.testing.store_contract import StoreContract

__all__ = [
    "AuditError",
    "ExecutorContract",
    "FakeClock",
    "ManualDriver",
    "ManualExecution",
    "ManualExecutor",
    "StoreContract",
    "check_audit",
]
