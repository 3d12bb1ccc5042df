"""When a provider is listed next, and whether whole or from a cursor.

Small providers, and those without a revision, are listed whole every time. Of the others a whole
List is asked for now and then, since only a whole List shows what is gone; sooner while machines
are missing.
"""

from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.settings import ReconcileSettings

#: Seconds between two whole Lists while machines are missing.
WHOLE_WHILE_MISSING = 10.0


@dataclass(frozen=True, slots=True)
class ListPlan:
    whole: bool
    #: Empty with a whole List.
    since_revision: bytes
    due: Instant


@dataclass(slots=True)
class Schedule:
    """What planning knows of one provider."""

    last_try: Instant | None = None
    last_whole: Instant | None = None
    revision: bytes = b""
    #: Machines it named in its last whole List.
    machines: int = 0

    def tried(self, at: Instant) -> None:
        self.last_try = at

    def listed(self, count: int, revision: bytes, at: Instant, *, whole: bool) -> None:
        self.tried(at)
        self.revision = revision
        if whole:
            self.last_whole, self.machines = at, count

    def start_over(self) -> None:
        """The next List is a whole one."""
        self.revision = b""

    def incremental(self, settings: ReconcileSettings) -> bool:
        if settings.mode == "full" or not self.revision or self.last_whole is None:
            return False
        return settings.mode == "incremental" or self.machines >= settings.incremental_from

    def next(
        self, at: Instant, settings: ReconcileSettings, *, missing: bool, breaker_open: bool
    ) -> ListPlan:
        pause = settings.interval
        if breaker_open:
            pause = max(pause, settings.breaker_probe)
        due = at if self.last_try is None else max(at, self.last_try + int(pause * SECOND))
        if not self.incremental(settings):
            return ListPlan(True, b"", due)
        whole_every: float = settings.full_interval
        if missing:
            whole_every = min(whole_every, WHOLE_WHILE_MISSING)
        since = due - (self.last_whole or 0)
        whole = since >= whole_every * SECOND
        return ListPlan(whole, b"" if whole else self.revision, due)
