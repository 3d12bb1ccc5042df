"""The numbers a provider runs with; each default is the one of the provider contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from bigfleet.provider.backend import Backend, Rate, Tunes
from bigfleet.provider.ledger.decisions import Sizes
from bigfleet.provider.ledger.transitions import Kind, Reason
from bigfleet.provider.operations.limits import RetryRule
from bigfleet.wire.lines import TlsFiles


class KeepBlobs(StrEnum):
    IN_FLIGHT = "in_flight"
    NEVER = "never"


class FailedExit(StrEnum):
    IN_PLACE = "in_place"
    NEW_ID = "new_id"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds."""

    create: float = 300.0
    configure: float = 600.0
    #: Beside the grace the caller gave.
    drain: float = 600.0
    delete: float = 300.0
    describe: float = 30.0
    #: How long an accepted operation may wait for a free place.
    queue: float = 900.0
    reconcile: float = 120.0
    prices: float = 300.0
    #: How long a FAILED machine is left alone.
    failed_hold: float = 300.0
    stockout_hold: float = 30.0
    #: How long an offering rests after a stock-out that does not say.
    cool_down: float = 60.0
    #: What running operations get after SIGTERM.
    drain_on_stop: float = 20.0

    def of_work(self, kind: Kind, grace_seconds: int = 0) -> float:
        match kind:
            case Kind.CREATE:
                return self.create
            case Kind.CONFIGURE:
                return self.configure
            case Kind.DRAIN:
                return self.drain + grace_seconds
            case Kind.DELETE:
                return self.delete

    def hold(self, reason: Reason) -> float:
        return self.stockout_hold if reason is Reason.STOCKOUT else self.failed_hold

    def with_transition_timeout(self, seconds: float) -> "Timing":
        return replace(self, create=seconds, configure=seconds, drain=seconds, delete=seconds)


def _places() -> dict[Kind, int]:
    return {Kind.CREATE: 64, Kind.CONFIGURE: 64, Kind.DRAIN: 64, Kind.DELETE: 32}


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    provider: str = "provider"
    address: str = "127.0.0.1:9000"
    #: Empty: no HTTP at all.
    metrics_address: str = ""
    #: The address is a default: where it is taken, any free port will do.
    metrics_may_move: bool = False
    tls: TlsFiles | None = None
    reflection: bool = True
    debug_endpoints: bool = False
    timing: Timing = Timing()
    sizes: Sizes = Sizes()
    retries: RetryRule = RetryRule()
    places: dict[Kind, int] = field(default_factory=_places)
    #: Token buckets per API class; None: the Backend's own. Empty lifts them all.
    limits: Mapping[str, Rate] | None = None
    operation_prefix: str = "op"
    #: Finished operations of the last seven days that can be looked up at most: a week of a hundred
    #: a minute, some 200 MB. Beyond that the disk counts for more.
    journal_rows: int = 1_000_000
    keep_blobs: KeepBlobs = KeepBlobs.IN_FLIGHT
    #: Describes in a row, and seconds they must span, before an absent host counts as gone.
    miss_threshold: int = 3
    miss_seconds: float = 60.0
    failed_exit: FailedExit = FailedExit.IN_PLACE
    fault_selectors: bool = False


T = TypeVar("T", Timing, ProviderOptions)


def tuned_for(backend: Backend, options: ProviderOptions) -> ProviderOptions:
    """What the Backend asks for wherever `options` still has the contract's default."""
    if not isinstance(backend, Tunes):
        return options
    asked = backend.tuned(ProviderOptions())
    timing = _filled(options.timing, asked.timing, Timing())
    return replace(_filled(options, asked, ProviderOptions()), timing=timing)


def _filled(said: T, asked: T, default: T) -> T:
    changes: dict[str, Any] = {}
    for known in fields(default):
        ours, usual = getattr(said, known.name), getattr(default, known.name)
        changes[known.name] = getattr(asked, known.name) if ours == usual else ours
    return replace(said, **changes)
