"""What an author writes: substrate calls, and nothing about fencing, states or storage.

Every method may be `async` or plain; a plain one runs in a thread and sees `op.cancelled`. Required
are `describe`, `create`, `configure`, `drain`, and `confirm_ready` unless the class sets
`configure_implies_ready`. The optional ones are the protocols at the end of this file: a Backend
that has the method has the capability.
"""

import threading
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from bigfleet.edge.clock import Clock
from bigfleet.edge.pages import Route
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.config import Config
from bigfleet.provider.ledger.transitions import Kind

if TYPE_CHECKING:  # the options know the ledger, which knows this file; tests need no gRPC
    from bigfleet.provider.options import ProviderOptions
    from bigfleet.wire.provider_server import ExtraService, ProviderHandler


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the substrate; `ref` should be the node's providerID or its last segment."""

    ref: str
    #: Becomes the label `kubernetes.io/hostname`.
    node_name: str = ""


@dataclass(frozen=True, slots=True)
class Created:
    """What `create` made; a refined shape replaces the slot's while the host lives."""

    host: Host
    resources: Mapping[str, str] | None = None
    allocatable: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """A machine found already serving a cluster, for fleets that are taken over as they run."""

    cluster: str
    shard_metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Instance:
    """One machine of the substrate. No host: a slot to buy. A host: Idle when first seen."""

    id: str
    instance_type: str
    zone: str
    capacity_type: CapacityType
    host: Host | None = None
    price_per_hour: float = 0.0
    interruption_probability: float = 0.0
    resources: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    region: str = ""
    #: Read only when the id is first seen: the machine is then Configured.
    bound: Binding | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the substrate has now; an incomplete one adds and refreshes but proves no absence."""

    instances: tuple[Instance, ...]
    complete: bool = True

    def __init__(self, instances: "tuple[Instance, ...] | list[Instance]", complete: bool = True):
        object.__setattr__(self, "instances", tuple(instances))
        object.__setattr__(self, "complete", complete)


class Condition(StrEnum):
    GONE = "gone"
    RUNNING = "running"
    BOUND = "bound"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HostStatus:
    """What `inspect` found out about a machine's host."""

    condition: Condition
    host: Host | None = None

    @classmethod
    def running(cls, host: Host) -> "HostStatus":
        """The host is there and serves no cluster."""
        return cls(Condition.RUNNING, host)


GONE = HostStatus(Condition.GONE)
BOUND = HostStatus(Condition.BOUND)
UNKNOWN = HostStatus(Condition.UNKNOWN)


class OfferingKey(NamedTuple):
    instance_type: str
    zone: str
    capacity_type: CapacityType


class Price(NamedTuple):
    price_per_hour: float
    #: None: leave the probability as it is.
    interruption_probability: float | None = None


@dataclass(frozen=True, slots=True)
class PriceTable:
    """New prices; what it does not name stays. A machine's own price wins over its offering's."""

    offerings: Mapping[OfferingKey, Price] = field(default_factory=dict)
    machines: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Interruption:
    """The substrate announced that it will take the host back at `at`."""

    machine_id: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Gone:
    """The host is gone; no confirmation is asked for."""

    machine_id: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class PriceChanged:
    prices: PriceTable


@dataclass(frozen=True, slots=True)
class DescribeNow:
    """Something changed that only `describe` can tell."""


Signal = Interruption | Gone | PriceChanged | DescribeNow


class BackendError(Exception):
    """Base of what a Backend raises on purpose; anything else counts as Permanent."""


class Retryable(BackendError):
    """Try again, not before `after` seconds."""

    def __init__(self, text: str = "", after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


class CapacityUnavailable(BackendError):
    """The substrate has none of these; the offering rests for `after` seconds."""

    def __init__(self, text: str = "", after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


class QuotaExceeded(BackendError):
    """The account may have no more; the offering rests for `after` seconds."""

    def __init__(self, text: str = "", after: float | None = None) -> None:
        super().__init__(text)
        self.after = after


class HostGone(BackendError):
    """The host of this machine no longer exists."""


class Permanent(BackendError):
    """No retry will help."""


class Rate(NamedTuple):
    """A token bucket: `per_second` calls on average, `burst` at once (default: one second's)."""

    per_second: float
    burst: float = 0.0


class OperationContext:
    """What an operation may use of the server; this one keeps no notes and limits nothing."""

    def note(self, text: str) -> None:
        return None

    def limit(self, api_class: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()


@dataclass(frozen=True, slots=True)
class Operation:
    """One piece of work on one machine.

    `operation_id` is the substrate's idempotency token: the same over retries, restarts and resume,
    fresh for each new cycle.
    """

    kind: Kind
    machine: MachineRecord
    operation_id: str
    attempt: int
    deadline: Instant
    shard_id: str = ""
    #: Configure: the cluster, the opaque blob and what the shard wants echoed.
    cluster_id: str = ""
    bootstrap_blob: bytes = field(default=b"", repr=False)
    shard_metadata: Mapping[str, str] = field(default_factory=dict)
    #: Drain
    grace_period_seconds: int = 0
    #: For methods that run in a thread: set once the result is no longer wanted.
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False)
    context: OperationContext = field(default_factory=OperationContext, compare=False, repr=False)

    def note(self, text: str) -> None:
        """Shown in logs and to operators."""
        self.context.note(text)

    def limit(self, api_class: str) -> AbstractAsyncContextManager[None]:
        """`async with op.limit("write"):` waits for the token bucket and the breaker of a class."""
        return self.context.limit(api_class)

    @property
    def host_ref(self) -> str:
        return self.machine.host.ref if self.machine.host else ""


@dataclass(frozen=True, slots=True)
class OpenContext:
    """What a Backend is given before its first call."""

    #: The provider's name: first part of slot ids, `host.provider`, and a label.
    provider: str
    clock: Clock
    offerings: Path | None = None
    seed_count: int = 32
    use_fake_backend: bool = False
    fault_selectors: bool = False
    #: Names the store, another one for each fresh store; every operation id carries it, so that no
    #: id is ever used twice toward the substrate.
    incarnation: str = ""


class Backend:
    """Base class of providers."""

    #: The author's settings; `--set key=value` and YAML are checked against it.
    config: ClassVar[type[Config]] = Config
    #: Token buckets per API class of the substrate; an instance may have its own, and the options
    #: overrule both.
    limits: Mapping[str, Rate] = {}
    #: True: a finished `configure` already means that the node is Ready.
    configure_implies_ready: ClassVar[bool] = False
    #: True: ids need not be DNS names; operators then cannot name objects after them.
    allow_any_id: ClassVar[bool] = False
    #: True: no credentials are needed or used; otherwise `--fault-selectors` is refused.
    fake: ClassVar[bool] = False

    #: An instance of `config`, set before `open`.
    cfg: Any

    def open(self, ctx: OpenContext) -> Awaitable[None] | None:
        """Credentials and clients; raising refuses the start."""

    def close(self) -> Awaitable[None] | None:
        """The last call."""

    def describe(self) -> Awaitable[Inventory] | Inventory:
        raise NotImplementedError

    def create(self, op: Operation) -> Awaitable[Created] | Created:
        raise NotImplementedError

    def configure(self, op: Operation) -> Awaitable[None] | None:
        raise NotImplementedError

    def drain(self, op: Operation) -> Awaitable[None] | None:
        raise NotImplementedError


@runtime_checkable
class ConfirmsReady(Protocol):
    def confirm_ready(self, op: Operation) -> Awaitable[None] | None:
        """Returns when the node is Ready; the record stays CONFIGURING until then."""


@runtime_checkable
class Deletes(Protocol):
    def delete(self, op: Operation) -> Awaitable[None] | None: ...


@runtime_checkable
class Inspects(Protocol):
    def inspect(self, machine: MachineRecord) -> Awaitable[HostStatus] | HostStatus: ...


@runtime_checkable
class Resets(Protocol):
    def reset(self, machine: MachineRecord) -> Awaitable[None] | None:
        """Cleans a failed host so that it may be Idle again."""


@runtime_checkable
class Watches(Protocol):
    def watch(self) -> AsyncIterator[Signal]: ...


@runtime_checkable
class Prices(Protocol):
    def prices(self) -> Awaitable[PriceTable] | PriceTable: ...


@runtime_checkable
class KeepsTime(Protocol):
    def make_clock(self) -> Clock:
        """The clock everything in this provider runs on; `cfg` is already set."""
        ...


@runtime_checkable
class Tunes(Protocol):
    def tuned(self, options: "ProviderOptions") -> "ProviderOptions":
        """Other defaults for this Backend; `cfg` is set, and flags still overrule it."""
        ...


@runtime_checkable
class Admits(Protocol):
    def admit(self, kind: Kind, machine: MachineRecord) -> None:
        """Refuses before acceptance what is known to be in vain; must answer at once.

        CapacityUnavailable and QuotaExceeded become RESOURCE_EXHAUSTED, any other BackendError
        ABORTED; the machine stays in its stable state.
        """


class ServerExtension:
    """What a Backend adds to the server beside its calls: the sim's control API.

    An ordinary provider adds nothing.
    """

    #: Fault selectors are on, also without `--fault-selectors`.
    fault_selectors = False

    def services(self) -> "Sequence[ExtraService]":
        """Further gRPC services on the provider's port."""
        return ()

    def routes(self) -> Mapping[str, Route]:
        """Path prefix -> handler, on the metrics port."""
        return {}

    def wrapped(self, handler: "ProviderHandler") -> "ProviderHandler":
        """The six RPCs with outages, slow answers and wrong Lists."""
        return handler

    def before_commit(self) -> None:
        """Called before every commit; raising makes the commit fail."""


@runtime_checkable
class Extends(Protocol):
    def extension(self) -> ServerExtension:
        """Asked for once, after `open`."""
        ...
