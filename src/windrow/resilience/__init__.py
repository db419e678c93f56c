"""What happens when a system outside the process fails: classes of failure, trying again, and a breaker per system.

Takes calls to a broker, a database or a registry, gives their results, or an error that says why there is none. Every connector
that talks to something outside does so through a ``Guard``. Must not know: Kafka, PostgreSQL, Spark, the command line.
"""

from windrow.resilience.breaker import CLOSED, HALF_OPEN, OPEN, Breaker, SystemState, breaker_of, system_states
from windrow.resilience.failures import FailureClass
from windrow.resilience.guard import Guard, RetryRule, StoppedWaitingError

__all__ = [
    "CLOSED",
    "HALF_OPEN",
    "OPEN",
    "Breaker",
    "FailureClass",
    "Guard",
    "RetryRule",
    "StoppedWaitingError",
    "SystemState",
    "breaker_of",
    "system_states",
]
