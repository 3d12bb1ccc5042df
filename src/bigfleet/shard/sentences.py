"""Why each action of a cycle, in one sentence, from what the decision already knows.

No ranking is redone here: the full account of a decision, with what else was looked at, is the
business of `explain`, which works on a recorded cycle and at its own pace.
"""

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.outcome import Outcome
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import NEVER, Offering
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.reasons import Reason


class Sentences:
    def __init__(self, decision: Decision, options: EngineOptions, now: Instant) -> None:
        self._decision = decision
        self._outcome: Outcome = decision.outcome
        self._options = options
        self._now = now

    def at(self, places: Int64s) -> Iterator[str]:
        """One for each of these places of the order of emission."""
        columns = self._outcome.action_columns
        for kind, row, need, grace in zip(
            columns.kind[places].tolist(),
            columns.row[places].tolist(),
            columns.need[places].tolist(),
            columns.grace_seconds[places].tolist(),
            strict=True,
        ):
            yield self._reason(ActionKind(kind), row, need, grace).text

    def _reason(self, kind: ActionKind, row: int, need: int, grace: int) -> Reason:
        match kind:
            case ActionKind.BOOTSTRAP:
                if self._offering(row).interruption_probability > 0:
                    return self._why_cheapest(row, need, "idleCost")
                price = self._offering(row).price_per_hour
                return Reason("cost.rank", {"pricePerHour": price, "need": self._need_name(need)})
            case ActionKind.PROVISION:
                return self._why_cheapest(row, need, "effectiveCost")
            case ActionKind.PREEMPT:
                facts = {
                    "need": self._need_name(need),
                    "preemptorPriority": int(self._outcome.needs.priority[need]),
                    "victimPriority": self._stamped_priority(row),
                    "graceSeconds": grace,
                }
                if self._outcome.preempted.whole_domain[need]:
                    victims = int(self._outcome.preempted.count_of_need[need])
                    facts |= {"domain": self._decision.domain(need), "victims": victims}
                return Reason("claim.higher", facts)
            case ActionKind.RECLAIM:
                return self._why_excess(row)
            case ActionKind.DELETE:
                return self._why_released(row)

    def _why_cheapest(self, row: int, need: int, cost_fact: str) -> Reason:
        """Of a machine that is bought, or that is idle and may be interrupted."""
        offering = self._offering(row)
        penalty = float(self._outcome.needs.penalty[need])
        probability = offering.interruption_probability
        cost = offering.price_per_hour + (probability * penalty if probability else 0.0)
        facts = {
            "pricePerHour": offering.price_per_hour,
            "interruptionProbability": probability,
            "penaltyDollars": "pinned" if math.isinf(penalty) else penalty,
            cost_fact: "infinite" if math.isinf(cost) else cost,
            "need": self._need_name(need),
        }
        return Reason("cost.rank", facts)

    def _why_excess(self, row: int) -> Reason:
        snapshot = self._outcome.scene.snapshot
        cluster = int(snapshot.columns.cluster[row])
        name = snapshot.tables.clusters.rows[cluster]
        facts = {
            "cluster": name,
            "configured": snapshot.configured_of(name),
            "claimed": int(self._claimed[cluster]),
            "machine": snapshot.ids[row],
            "pricePerHour": self._offering(row).price_per_hour,
        }
        if snapshot.columns.empty[row]:
            facts["empty"] = True
        return Reason("excess", facts)

    def _why_released(self, row: int) -> Reason:
        offering, snapshot = self._offering(row), self._outcome.scene.snapshot
        since = int(snapshot.columns.idle_since[row])
        idle = 0 if since == NEVER else (self._now - since) // SECOND
        facts = {
            "idleSeconds": idle,
            "capacityType": offering.capacity_type.label,
            "holdSeconds": self._options.release_holds.get(offering.capacity_type, 0.0),
        }
        return Reason("hold.idle", facts)

    def _offering(self, row: int) -> Offering:
        snapshot = self._outcome.scene.snapshot
        return snapshot.tables.offerings.table.rows[int(snapshot.columns.offering[row])]

    def _stamped_priority(self, row: int) -> int:
        snapshot = self._outcome.scene.snapshot
        return snapshot.tables.stamps.table.rows[int(snapshot.columns.stamp[row])].priority

    def _need_name(self, need: int) -> str:
        name = self._names.get(need)
        if name is None:
            key = self._outcome.key(need)
            name = self._names[need] = f"need/{key.cluster}/{key.need_id}"
        return name

    @cached_property
    def _names(self) -> dict[int, str]:
        return {}

    @cached_property
    def _claimed(self) -> Int64s:
        """Configured machines that a Need claims, by cluster."""
        snapshot, holder = self._outcome.scene.snapshot, self._outcome.credit.holder
        rows = (snapshot.columns.state == MachineState.CONFIGURED) & (holder >= 0)
        return np.bincount(snapshot.columns.cluster[rows], minlength=snapshot.cluster_count)
