"""The verifier's place in the shard: gives it its facts, remembers for it, and tells people.

The last rail before the queue. What it vetoes is decided anew in the next cycle. A veto of
something the engine must never produce is an incident: logged as an error, counted, told in the
machine's story, and said by `bigfleet status` until the shard is restarted. Where the verifier
itself fails, nothing that cannot be undone is done.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec

from bigfleet.model.actions import Action
from bigfleet.model.machines import Instant
from bigfleet.model.memory import Reservation
from bigfleet.model.options import SECOND
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_admin import Audit
from bigfleet.model.verifier_views import VerifierIncident, VerifierPolicy, VerifierView
from bigfleet.plan.verifier_facts import MachinesNow, batch_of, rows_of, spend_of
from bigfleet.shard.effects import VERIFIER, Effects
from bigfleet.verifier.facts import Batch, Fence, Invariant, Veto
from bigfleet.verifier.limits import RecentReclaims
from bigfleet.verifier.policy import Policy, policy_of, problems_of
from bigfleet.verifier.verify import reclaimed_places, verify, vetoes_without_verifier

if TYPE_CHECKING:
    from bigfleet.shard.coordination.coordination import Coordination
    from bigfleet.shard.decision_loop import DecisionLoop
    from bigfleet.shard.execution.execution import Execution
    from bigfleet.shard.ingest.ingest import Ingest
    from bigfleet.shard.machines import Machines
    from bigfleet.shard.reconciling.reconciler import Reconciler
    from bigfleet.shard.settings import CurrentShardSettings

#: Incidents that can be listed; the log has all of them.
REMEMBERED = 20
#: Key of the row in the table VERIFIER.
POLICY = "policy"
#: A verifier that fails says so this often.
_TELL_FAILING = 60 * SECOND


class VerifiedParts(Protocol):
    settings: "CurrentShardSettings"
    machines: "Machines"
    execution: "Execution"
    ingest: "Ingest"
    reconciler: "Reconciler"
    decision_loop: "DecisionLoop"
    coordination: "Coordination"


class SetPolicy(msgspec.Struct, frozen=True):
    """A policy that a person set, as it is kept in state.db."""

    freeze_windows: tuple[str, ...]
    spend_ceiling: float
    reclaim_zone_fraction: float
    owner: str
    reason: str
    at: int

    @property
    def policy(self) -> VerifierPolicy:
        return VerifierPolicy(self.freeze_windows, self.spend_ceiling, self.reclaim_zone_fraction)


@dataclass(slots=True)
class _Parsed:
    """Texts are read once, not in every cycle."""

    of: tuple[VerifierPolicy, float]
    policy: Policy


class Verification:
    def __init__(self, effects: Effects, parts: VerifiedParts, epoch: int) -> None:
        self._effects = effects
        self._parts = parts
        self._epoch = epoch
        self._decided_under = Fence(epoch)
        #: Of the cycle that runs.
        self._reservations: Mapping[str, Reservation] = {}
        self._recent = RecentReclaims()
        #: The batch of the running cycle, until it is known what of it was started.
        self._batch: Batch | None = None
        #: None: the policy of the settings is in force.
        self._set: SetPolicy | None = None
        self._parsed: _Parsed | None = None
        self._spend_per_hour = 0.0
        self._vetoes: Counter[str] = Counter()
        self._incidents = 0
        self._last_incidents: deque[VerifierIncident] = deque(maxlen=REMEMBERED)
        #: Incidents of the last cycle: what is decided again every cycle is told once.
        self._told: set[tuple[str, Invariant]] = set()
        self.error = ""
        self._told_error_at: Instant | None = None

    def __len__(self) -> int:
        """Moments of the last minute at which machines were reclaimed."""
        return len(self._recent)

    @property
    def incidents(self) -> int:
        return self._incidents

    @property
    def last_incident(self) -> str:
        """A sentence; empty: there was none."""
        return self._last_incidents[-1].text if self._last_incidents else ""

    # -- every cycle -----------------------------------------------------------------------------

    def on_cycle_begun(self, reservations: Mapping[str, Reservation]) -> None:
        """`reservations`: those the engine is given, by machine."""
        self._reservations = reservations
        self._decided_under = Fence(self._epoch, self._parts.coordination.term)

    def vetoes(self, actions: Sequence[Action], at: Instant) -> Mapping[int, Reason]:
        """By position, what is against an action."""
        self._batch = None
        if not actions or not self._parts.settings.now.verifier.enabled:
            return {}
        try:
            batch = self._batch_of(actions, at)
            found = verify(batch, self._policy(), self._recent)
        except Exception as problem:  # noqa: BLE001 - machines are safe from any fault of it
            return self._on_failure(actions, f"{type(problem).__name__}: {problem}", at)
        self._batch = batch
        self.error = ""
        self._tell(actions, found, at)
        return {position: veto.reason for position, veto in found.items()}

    def on_started(self, machines: Iterable[str], at: Instant) -> None:
        """What of the batch was handed on: clusters will lose it."""
        if self._batch is not None:
            self._recent.started(reclaimed_places(self._batch, machines), at)
            self._batch = None

    def _batch_of(self, actions: Sequence[Action], at: Instant) -> Batch:
        parts = self._parts
        decision, inventory = parts.decision_loop.decision, parts.machines.inventory
        assert decision is not None, "a decision is being carried out"
        snapshot = decision.outcome.scene.snapshot
        rows = rows_of(snapshot, actions)
        columns, present = inventory.columns_now(snapshot, rows)
        owned = [parts.reconciler.is_owned(action.machine) for action in actions]
        if self.policy().spend_ceiling:
            self._spend_per_hour = spend_of(snapshot, parts.execution.ordered_machines())
        return batch_of(
            decision,
            actions,
            self._reservations,
            rows=rows,
            live=MachinesNow(columns, inventory.tables, present & (rows >= 0), owned),
            reported=parts.ingest.reported,
            held=parts.ingest.held_clusters(),
            at=at,
            decided_under=self._decided_under,
            current=Fence(parts.execution.epoch, parts.coordination.term),
            spend_per_hour=self._spend_per_hour,
        )

    def _tell(self, actions: Sequence[Action], found: Mapping[int, Veto], at: Instant) -> None:
        counts, told = self._effects.counts, set()
        for position, veto in found.items():
            action, name = actions[position], veto.invariant.name
            self._vetoes[name] += 1
            counts.add("verifier_vetoes_total", invariant=name, kind=action.kind.label)
            if veto.incident:
                told.add((action.machine, veto.invariant))
                counts.add("verifier_incidents_total", invariant=name)
                if (action.machine, veto.invariant) not in self._told:
                    self._tell_incident(action, veto, at)
        self._told = told

    def _tell_incident(self, action: Action, veto: Veto, at: Instant) -> None:
        name, cycle = veto.invariant.name, self._parts.decision_loop.number
        text = f"{action.kind.label} of {action.machine} vetoed ({name}): {veto.what}"
        self._incidents += 1
        self._last_incidents.append(
            VerifierIncident(at, cycle, name, action.kind, action.machine, action.cluster, text)
        )
        self._effects.log(
            "error",
            "verifier_incident",
            f"{text}; the engine must never ask for this: {veto.remedy}",
            cycle=cycle,
            invariant=name,
            kind=action.kind.label,
            machine=action.machine,
            cluster=action.cluster,
        )

    def _on_failure(
        self, actions: Sequence[Action], problem: str, at: Instant
    ) -> Mapping[int, Reason]:
        self._effects.counts.add("verifier_errors_total")
        told = self._told_error_at
        if problem != self.error or told is None or at - told >= _TELL_FAILING:
            self._told_error_at = at
            text = (
                f"the verifier failed: {problem}; Reclaims, Preempts and Deletes are vetoed, and"
                " what is acquired is not verified"
            )
            cycle = self._parts.decision_loop.number
            self._effects.log("error", "verifier_failed", text, cycle=cycle)
        self.error = problem
        remedy = "bigfleet status"
        return {
            place: Reason("rail.verifier", {"invariant": "failed", "what": what, "remedy": remedy})
            for place, what in vetoes_without_verifier(actions, problem).items()
        }

    # -- the policy ------------------------------------------------------------------------------

    def policy(self) -> VerifierPolicy:
        """In force."""
        if self._set is not None:
            return self._set.policy
        settings = self._parts.settings.now.verifier
        return VerifierPolicy(
            settings.freeze_windows, settings.spend_ceiling, settings.reclaim_zone_fraction
        )

    def _policy(self) -> Policy:
        said, cap = self.policy(), self._parts.settings.now.rails.reclaim_cap_fraction
        if self._parsed is None or self._parsed.of != (said, cap):
            made = policy_of(
                said.freeze_windows, said.spend_ceiling, said.reclaim_zone_fraction, cap
            )
            self._parsed = _Parsed((said, cap), made)
        return self._parsed.policy

    def why_refused(self, policy: VerifierPolicy | None) -> str:
        """What is wrong with a policy, as a sentence; empty: nothing."""
        if policy is None:
            return ""
        problems = problems_of(
            policy.freeze_windows, policy.spend_ceiling, policy.reclaim_zone_fraction
        )
        return "; ".join(f"{name}: {problem}" for name, problem in problems.items())

    def row_of(self, policy: VerifierPolicy | None, audit: Audit, at: Instant) -> bytes | None:
        """What must be on disk before `take`."""
        return None if policy is None else msgspec.json.encode(_set_policy(policy, audit, at))

    def take(self, policy: VerifierPolicy | None, audit: Audit, at: Instant) -> None:
        """None: that of the settings."""
        self._set = None if policy is None else _set_policy(policy, audit, at)
        self._effects.wake()

    def load(self, rows: Mapping[str, bytes]) -> None:
        """What a person set in an earlier life."""
        if (row := rows.get(POLICY)) is None:
            return
        try:
            kept = msgspec.json.decode(row, type=SetPolicy)
            policy_of(kept.freeze_windows, kept.spend_ceiling, kept.reclaim_zone_fraction)
        except (msgspec.MsgspecError, ValueError) as problem:
            text = f"the verifier's policy cannot be read: {problem}; that of the settings counts"
            self._effects.log("error", "verifier_policy_unreadable", text)
            self._effects.persist(VERIFIER, POLICY, None)
        else:
            self._set = kept

    def view(self, at: Instant) -> VerifierView:
        chosen = self._set
        windows = self._policy().freeze_windows
        return VerifierView(
            enabled=self._parts.settings.now.verifier.enabled,
            policy=self.policy(),
            set_by=None if chosen is None else Audit(chosen.owner, chosen.reason),
            set_at=None if chosen is None else chosen.at,
            open_freezes=tuple(each.text for each in windows if each.ends(at) is not None),
            spend_per_hour=self._spend_per_hour,
            vetoes=dict(sorted(self._vetoes.items())),
            incidents=self._incidents,
            last_incidents=tuple(self._last_incidents),
            error=self.error,
        )


def _set_policy(policy: VerifierPolicy, audit: Audit, at: Instant) -> SetPolicy:
    return SetPolicy(
        policy.freeze_windows,
        policy.spend_ceiling,
        policy.reclaim_zone_fraction,
        audit.owner,
        audit.reason,
        at,
    )
