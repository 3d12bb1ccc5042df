"""The parts of a provider and who knows whom; no part makes another one."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.provider.backend import Rate
from bigfleet.provider.calls import BackendCalls
from bigfleet.provider.committer import Committer
from bigfleet.provider.healer import Healer
from bigfleet.provider.metrics import ProviderMetrics
from bigfleet.provider.operations.attempts import Attempts
from bigfleet.provider.operations.limits import Limits, MachineLocks
from bigfleet.provider.operations.operations import Operations
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.own_changes import Changes
from bigfleet.provider.reconciling.reconciler import Reconciler
from bigfleet.provider.service import ProviderService
from bigfleet.provider.signals import Signals


@dataclass(frozen=True, slots=True)
class Parts:
    committer: Committer
    operations: Operations
    changes: Changes
    reconciler: Reconciler
    healer: Healer
    signals: Signals
    answers: ProviderService


def assembled(
    committer: Committer,
    calls: BackendCalls,
    rates: Mapping[str, Rate],
    clock: Clock,
    chance: random.Random,
    options: ProviderOptions,
    metrics: ProviderMetrics,
    log: Log,
    *,
    allow_any_id: bool = False,
) -> Parts:
    """`committer` has been loaded."""
    locks = MachineLocks()
    limits = Limits(rates, clock, metrics)
    attempts = Attempts(calls, clock, chance, options.retries)
    operations = Operations(attempts, committer, locks, limits, clock, options, metrics, log)
    changes = Changes(committer, operations, locks, clock, options.provider)
    reconciler = Reconciler(
        calls, committer, changes, clock, options, metrics, log, allow_any_id=allow_any_id
    )
    healer = Healer(calls, committer, changes, reconciler, limits, clock, options, metrics, log)
    signals = Signals(
        calls, committer, changes, reconciler, clock, metrics, log, options.timing.prices
    )
    answers = ProviderService(committer, operations, locks, calls, clock, options, metrics, log)
    return Parts(committer, operations, changes, reconciler, healer, signals, answers)
