"""Provider SDK: write substrate calls, get the whole provider contract.

This is the public surface; everything deeper may change without notice.
"""

from bigfleet.edge.clock import Clock, ManualClock
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.syntax import shell_word, yaml_text
from bigfleet.provider.backend import (
    BOUND,
    GONE,
    UNKNOWN,
    Backend,
    BackendError,
    Binding,
    CapacityUnavailable,
    Condition,
    Created,
    DescribeNow,
    Gone,
    Host,
    HostGone,
    HostStatus,
    Instance,
    Interruption,
    Inventory,
    OfferingKey,
    OpenContext,
    Operation,
    Permanent,
    Price,
    PriceChanged,
    PriceTable,
    QuotaExceeded,
    Rate,
    Retryable,
    Signal,
)
from bigfleet.provider.blocks.agents import AgentLongPoll, AgentReport
from bigfleet.provider.blocks.hooks import Ended, GuestAgent, HookChannel, HookExit, RunCommand, Ssh
from bigfleet.provider.blocks.kube_nodes import KubeNodeReady
from bigfleet.provider.blocks.offerings import Catalog, InstanceType, Offering, Offerings, Reserve
from bigfleet.provider.blocks.prices import InterruptionModel, PriceBook
from bigfleet.provider.blocks.slot_index import SlotIndex
from bigfleet.provider.config import Config, Secret
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.options import ProviderOptions, Timing
from bigfleet.provider.server import ProviderServer
from bigfleet.provider.stores.memory import MemoryStore
from bigfleet.provider.stores.sqlite import SQLiteStore

__all__ = [
    "BOUND",
    "GONE",
    "UNKNOWN",
    "AgentLongPoll",
    "AgentReport",
    "Backend",
    "BackendError",
    "BadInput",
    "Binding",
    "CapacityType",
    "CapacityUnavailable",
    "Catalog",
    "Clock",
    "Condition",
    "Config",
    "Created",
    "DescribeNow",
    "Ended",
    "Gone",
    "GuestAgent",
    "HookChannel",
    "HookExit",
    "Host",
    "HostGone",
    "HostStatus",
    "Instance",
    "InstanceType",
    "Instant",
    "Interruption",
    "InterruptionModel",
    "Inventory",
    "Kind",
    "KubeNodeReady",
    "MachineRecord",
    "MachineState",
    "ManualClock",
    "MemoryStore",
    "Offering",
    "OfferingKey",
    "Offerings",
    "OpenContext",
    "Operation",
    "Permanent",
    "Price",
    "PriceBook",
    "PriceChanged",
    "PriceTable",
    "Problem",
    "ProviderOptions",
    "ProviderServer",
    "QuotaExceeded",
    "Rate",
    "Reserve",
    "Retryable",
    "RunCommand",
    "SQLiteStore",
    "Secret",
    "Signal",
    "SlotIndex",
    "Ssh",
    "Timing",
    "shell_word",
    "yaml_text",
]
