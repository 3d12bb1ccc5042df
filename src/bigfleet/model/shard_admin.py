"""What people ask of a shard, and the answers that are more than one view."""

from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.pauses import Pause, PauseScope
from bigfleet.model.shard_views import MachineView, Quarantine, StoryEvent


@dataclass(frozen=True, slots=True)
class Audit:
    """Who changes something and why; neither is ever empty where a shard hears of it."""

    owner: str
    reason: str


@dataclass(frozen=True, slots=True)
class PauseCall:
    audit: Audit
    scope: PauseScope = PauseScope()
    #: 0 or less: the default, unless `no_expiry`.
    ttl_seconds: int = 0
    no_expiry: bool = False
    #: Chosen by the caller, it makes a retry harmless; empty: the shard makes one.
    pause_id: str = ""


@dataclass(frozen=True, slots=True)
class Paused:
    pause: Pause
    active: tuple[Pause, ...]


@dataclass(frozen=True, slots=True)
class ResumeCall:
    audit: Audit
    pause_id: str = ""
    #: Every pause that was set by RPC.
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Resumed:
    removed: tuple[Pause, ...]
    active: tuple[Pause, ...]


@dataclass(frozen=True, slots=True)
class PauseList:
    pauses: tuple[Pause, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class StoryCall:
    machine_id: str
    since: Instant = 0
    #: The newest so many; 0: no cap.
    limit: int = 0


@dataclass(frozen=True, slots=True)
class MachineStory:
    #: None: it is gone, its story is not.
    machine: MachineView | None
    events: tuple[StoryEvent, ...]
    #: There was more than is kept or was asked for.
    truncated: bool


@dataclass(frozen=True, slots=True)
class ClearedMachine:
    #: None: it was forgotten.
    machine: MachineView | None
    #: A sentence.
    text: str


@dataclass(frozen=True, slots=True)
class ReleasedQuarantine:
    #: As it was.
    quarantine: Quarantine
    #: A sentence.
    text: str


@dataclass(frozen=True, slots=True)
class TailCall:
    #: 0: from now on; -1: from the oldest that is kept; else of the shard's present epoch.
    from_seq: int = 0
    follow: bool = False
    #: Of records or of events; empty: all but key frames.
    kinds: tuple[str, ...] = ()
    cluster: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True)
class FetchCall:
    #: Of the shard's present epoch; 0: from the oldest that is kept, of any epoch.
    from_cycle: int = 0
    #: 0: to the newest.
    to_cycle: int = 0
