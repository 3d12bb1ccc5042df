"""What a simulated instant is by the clock on the wall, and the other way round; pure.

Simulated time begins with the fleet and runs `speed` times as fast. A fleet that goes on in a data
dir begins where it ended, which may be ahead of the wall: what it wrote down in an earlier life is
past for people too, and is never told as later than the moment this life began.
"""

from dataclasses import dataclass, replace

from bigfleet.model.machines import Instant
from bigfleet.up.reports import CycleReport
from bigfleet.wire.real_times import turned_text


@dataclass(frozen=True, slots=True)
class SimulatedTimes:
    #: The same moment by both clocks.
    real_began: Instant
    began: Instant
    speed: float

    @property
    def is_real(self) -> bool:
        """Nothing has to be turned."""
        return self.speed == 1 and self.began == self.real_began

    def real_of(self, instant: Instant) -> Instant:
        if instant < self.began:
            return min(instant, self.real_began)
        return self.real_began + round((instant - self.began) / self.speed)

    def own_of(self, instant: Instant) -> Instant:
        """Of a real instant."""
        if instant < self.real_began:
            return instant
        return self.began + round((instant - self.real_began) * self.speed)

    def in_real_time(self, report: CycleReport) -> CycleReport:
        """As people are to read it."""
        if self.is_real:
            return report
        pauses = [
            replace(
                pause,
                created_at=self.real_of(pause.created_at),
                expires_at=pause.expires_at and self.real_of(pause.expires_at),
            )
            for pause in report.pauses
        ]
        unmet = [replace(n, text=turned_text(n.text, self.real_of)) for n in report.unmet]
        return replace(report, at=self.real_of(report.at), pauses=tuple(pauses), unmet=tuple(unmet))
