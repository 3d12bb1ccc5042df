"""Offerings that rest after a stock-out or a used-up quota: no Create of them is accepted."""

from dataclasses import dataclass, field

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import Instant
from bigfleet.model.provider_calls import Code
from bigfleet.provider.backend import OfferingKey
from bigfleet.provider.ledger.decisions import Refusal
from bigfleet.provider.ledger.failures import Reason


@dataclass(slots=True)
class Cooldowns:
    _resting: dict[OfferingKey, tuple[Instant, Reason, str]] = field(default_factory=dict)

    def rest(self, offering: OfferingKey, reason: Reason, text: str, until: Instant) -> None:
        self._resting[offering] = (until, reason, text)

    def why_not(self, offering: OfferingKey, now: Instant) -> Refusal | None:
        resting = self._resting.get(offering)
        if resting is None:
            return None
        until, reason, text = resting
        if until <= now:
            del self._resting[offering]
            return None
        name = f"{offering.instance_type} in {offering.zone}"
        seconds = (until - now) / SECOND
        return Refusal(
            Code.RESOURCE_EXHAUSTED, f"{name} rests for {seconds:.0f} s: {text}", reason.value
        )
