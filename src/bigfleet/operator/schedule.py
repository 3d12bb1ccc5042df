"""When a cluster reports: at once on connecting, every interval, and soon after a change.

Silence is safe and a truncated report is not: nothing is due while what the operator knows of its
cluster is incomplete or old.
"""

from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.settings import OperatorSettings


@dataclass(slots=True)
class RollupSchedule:
    settings: CurrentSettings[OperatorSettings]
    #: Of this session; None: nothing has been sent on it.
    sent_at: Instant | None = None
    sent_version: int = -1
    #: When the first change was seen that no roll-up has told.
    changed_at: Instant | None = None
    #: What changed must not wait for more of it.
    is_hurried: bool = False

    def on_connected(self) -> None:
        self.sent_at = self.changed_at = None

    def on_sent(self, version: int, at: Instant) -> None:
        self.sent_at, self.sent_version, self.changed_at = at, version, None
        self.is_hurried = False

    def hurry(self) -> None:
        """The next look sends, if anything changed."""
        self.is_hurried = True

    def due(self, version: int, trustworthy: bool, at: Instant) -> bool:
        if not trustworthy:
            return False
        if self.sent_at is None or at - self.sent_at >= self.settings.now.rollup_interval * SECOND:
            return True
        if version == self.sent_version:
            return False
        if self.changed_at is None:
            self.changed_at = at
        if self.is_hurried:
            return True
        return at - self.changed_at >= self.settings.now.rollup_debounce * SECOND
