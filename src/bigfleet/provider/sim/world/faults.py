"""What goes wrong on purpose: staged failures, holds, and the selectors carried on the wire.

`fail-next` and `failure-rate` decide when a step begins; a hold decides when it would end. The
selectors of the conformance suite are honoured by the SDK around every Backend; those here are the
sim's own, in the same style.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.provider.sim.world.distributions import nanos_of_seconds
from bigfleet.provider.sim.world.events import Failure, Step
from bigfleet.provider.sim.world.supply import Slot
from bigfleet.provider.sim.world.verbs import Selector, StateOf

READY_SLOW, FLAKY, CRASH_AFTER = "fault-ready-slow:", "fault-flaky:", "fault-crash-after:"
CREATE_LABEL, DELETE_LABEL = "conformance.fault/create", "conformance.fault/delete"
_LABELLED = {
    (Step.CREATE, CREATE_LABEL, "stockout"): Failure.STOCKOUT,
    (Step.DELETE, DELETE_LABEL, "error"): Failure.ERROR,
}


@dataclass(slots=True)
class NextFailure:
    selector: Selector
    step: Step
    failure: Failure
    left: int


@dataclass(frozen=True, slots=True)
class Hold:
    #: None: every step.
    step: Step | None
    selector: Selector

    def __str__(self) -> str:
        return f"{self.step or 'all'} {self.selector.text}".strip()


@dataclass(slots=True)
class Faults:
    next_failures: list[NextFailure] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    #: Step -> chance, over what the offering says.
    failure_rate: dict[str, float] = field(default_factory=dict)
    #: Whether selectors on clusters and labels are honoured.
    selectors: bool = False

    def take_next(self, slot: Slot, step: Step, state_of: StateOf) -> Failure | None:
        """The staged failure that hits this step, used up."""
        for staged in self.next_failures:
            if staged.step is step and staged.selector.takes(slot, state_of):
                staged.left -= 1
                if staged.left <= 0:
                    self.next_failures.remove(staged)
                return staged.failure
        return None

    def holds_back(self, slot: Slot, step: Step, state_of: StateOf) -> bool:
        return any(
            hold.step in (None, step) and hold.selector.takes(slot, state_of) for hold in self.holds
        )

    def release(self, step: Step | None, selector: Selector) -> int:
        """Ends the holds that are named alike; without a name, all of them."""
        kept = [
            hold
            for hold in self.holds
            if (step is not None and hold.step is not step)
            or (selector.text and hold.selector.text != selector.text)
        ]
        ended = len(self.holds) - len(kept)
        self.holds = kept
        return ended

    def rate(self, slot: Slot, step: Step) -> float:
        return self.failure_rate.get(step, slot.pool.offering.failure_rate.get(step, 0.0))

    def labelled(self, step: Step, labels: Mapping[str, str]) -> Failure | None:
        if not self.selectors:
            return None
        return next(
            (
                failure
                for (wanted, label, value), failure in _LABELLED.items()
                if wanted is step and labels.get(label) == value
            ),
            None,
        )

    def ready_nanos(self, cluster: str) -> int | None:
        """How long readiness takes in a cluster named `fault-ready-slow:<s>`."""
        return self._seconds(cluster, READY_SLOW)

    def crash_nanos(self, cluster: str) -> int | None:
        return self._seconds(cluster, CRASH_AFTER)

    def flakiness(self, cluster: str) -> float:
        number = self._number(cluster, FLAKY)
        return 0.0 if number is None else min(number, 1.0)

    def _seconds(self, cluster: str, prefix: str) -> int | None:
        number = self._number(cluster, prefix)
        return None if number is None else nanos_of_seconds(number)

    def _number(self, cluster: str, prefix: str) -> float | None:
        if not self.selectors or not cluster.startswith(prefix):
            return None
        try:
            number = float(cluster.removeprefix(prefix))
        except ValueError:
            return None
        return number if math.isfinite(number) and number >= 0 else None
