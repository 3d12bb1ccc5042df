"""Why a Need is in its state, and what lifts it: made when it is asked for, from what was frozen.

The remedy is a command to copy where there is one, else what a person has to do.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.need_progress import hold_of
from bigfleet.engine.need_views import NeedViews
from bigfleet.engine.places import held_code
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.need_states import Cause, Holds, NeedStates
from bigfleet.explain.needs import reasons_of_need
from bigfleet.model.actions import ActionKind, UnmetReason
from bigfleet.model.advice import advice_on
from bigfleet.model.fleet import HeldBy
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.offering_scopes import OfferingScope, covers, scope_named
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseSource
from bigfleet.model.reasons import Reason, ToldReason
from bigfleet.model.shard_views import OfferingView

S = MachineState

#: Steps of a machine on its way, the one farthest from its end first.
_STEPS = (
    (S.SPECULATIVE, "flight.ordered", "ordered"),
    (S.IDLE, "flight.ordered", "ordered"),
    (S.CREATING, "flight.creating", "Creating"),
    (S.CONFIGURING, "flight.configuring", "Configuring"),
    (S.CONFIGURED, "flight.joining", "Configured without a usable Node"),
)
_LIFT_PAUSE = {
    PauseSource.FLAG: "restart the shard without --actuation-paused",
    PauseSource.FILE: "remove the pause file, or its entry",
}
#: A command that is better than the advice on the code.
_LIFT_RAIL = {
    "rail.unseen": "bigfleet quarantines",
    "rail.rebound": "bigfleet quarantines",
    "rail.quota": "bigfleet quotas list",
    "rail.dry-run": "set dry_run: false for the shard and send it SIGHUP",
}

Answer = tuple[Reason | ToldReason, str]


def _when(instant: Instant) -> str:
    """To the second: people act on nothing finer."""
    return instant_text(instant // SECOND * SECOND)


def remedy_of_pause(pause: Pause) -> str:
    lift = f"bigfleet resume {pause.pause_id} --reason WHY"
    return _LIFT_PAUSE.get(pause.source, lift)


def remedy_of_rail(reason: Reason | ToldReason, cluster: str) -> str:
    """What lifts a rail that holds back an action for a Need of this cluster."""
    if reason.code == "rail.backoff":
        subject = str(reason.facts.get("subject", ""))
        if scope_named(subject) is not None:
            return f"bigfleet reports offerings --reset {subject} --reason WHY"
        if not subject:  # Of a journal, which keeps the sentence.
            return "bigfleet reports offerings"
        return f"bigfleet clusters show {cluster}"
    if reason.code == "rail.verifier":
        return str(reason.facts.get("remedy", "bigfleet reports verifier"))
    advice = advice_on(reason.code)
    return _LIFT_RAIL.get(reason.code, advice.todo if advice else "bigfleet status")


class NeedReasons:
    def __init__(
        self,
        decision: Decision,
        views: NeedViews,
        states: NeedStates,
        facts: ColumnFacts | None = None,
    ) -> None:
        """`facts`: without them a short Need is explained briefly only."""
        self._facts = facts
        self._decision = decision
        self._outcome = decision.outcome
        self._views = views
        self._states = states
        #: What was told in full already: a list counts by it, and then shows it.
        self._told: dict[int, tuple[Reason, ...]] = {}

    def of(self, row: int) -> Answer:
        """The reason, and what lifts it; empty: nothing has to be done."""
        return _OF_CAUSE[Cause(int(self._states.cause[row]))](self, row)

    def in_full(self, row: int) -> tuple[Reason, ...]:
        """Of a Need that is short: everything in its way, in the words `plan` has for it."""
        if self._facts is None or self._states.cause[row] != Cause.NO_SUPPLY:
            return ()
        told = self._told.get(row)
        if told is None:
            told = self._told[row] = reasons_of_need(self._facts, self._facts.verdict(row))
        return told

    def codes(self, rows: Int64s) -> list[str]:
        """Of the reason of each: a tenth of the time that the reasons take."""
        causes = self._states.cause[rows].tolist()
        return [
            _CODE_OF_CAUSE.get(cause) or self.of(row)[0].code
            for row, cause in zip(rows.tolist(), causes, strict=True)
        ]

    # -- met and arriving ------------------------------------------------------------------------

    def _met(self, row: int) -> Answer:
        machines = self._views.claims(row)
        return Reason("keep.order", {"machines": machines} if machines else {}), ""

    def _coming(self, row: int) -> Answer:
        for state, code, _ in _STEPS:
            if count := self._count(row, state):
                return Reason(code, {"count": count}), ""
        return self._met(row)

    def _victims(self, row: int) -> Answer:
        return Reason("flight.draining"), ""

    def _margin(self, row: int) -> Answer:
        return Reason("pods.margin", {"pods": int(self._states.stuck[row])}), ""

    # -- blocked ---------------------------------------------------------------------------------

    def _paused(self, row: int) -> Answer:
        pause = self._pause_of(row)
        if pause is None:  # Of a victim's cluster; which one is in the story of the machine.
            return Reason("rail.paused"), "bigfleet pause list"
        facts = {
            "pause": pause.pause_id,
            "source": pause.source.name.lower(),
            "owner": pause.who or "a person",
            "why": pause.reason or "no reason given",
            "since": _when(pause.created_at),
        }
        if pause.expires_at is not None:
            facts["until"] = _when(pause.expires_at)
        return Reason("rail.paused", facts), remedy_of_pause(pause)

    def _pause_of(self, row: int) -> Pause | None:
        cluster, paused = self._outcome.key(row).cluster, self._holds.paused
        for kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION):
            if (kind, cluster) in paused:
                return paused[kind, cluster]
        clusters, columns = self._clusters, self._outcome.scene.snapshot.columns
        preempted = self._outcome.preempted
        for victim in columns.cluster[preempted.row[preempted.need == row]].tolist():
            if pause := paused.get((ActionKind.PREEMPT, clusters[victim])):
                return pause
        return None

    def _dry_run(self, row: int) -> Answer:
        return Reason("rail.dry-run"), _LIFT_RAIL["rail.dry-run"]

    def _no_operator(self, row: int) -> Answer:
        cluster = self._outcome.key(row).cluster
        facts, since = {"cluster": cluster}, self._holds.absent.get(cluster)
        if since is not None:
            facts["since"] = _when(since)
        remedy = f"start the operator of {cluster}; see bigfleet clusters show {cluster}"
        return Reason("rail.no-operator", facts), remedy

    def _breaker(self, row: int) -> Answer:
        progress, scene = self._states.progress, self._outcome.scene
        rows = progress.coming[progress.coming_need == row]
        sources = scene.snapshot.tables.sources.rows
        named = (sources[n] for n in scene.snapshot.columns.source[rows].tolist() if n >= 0)
        # Else its victims are there, and there is seldom more than one such provider.
        broken = next(iter(self._holds.broken), "")
        provider = next((name for name in named if name in self._holds.broken), broken)
        facts, known = {"provider": provider}, self._holds.broken.get(provider)
        if known is not None and known.since is not None:
            facts |= {
                "since": _when(known.since),
                "error": known.last_error or "no answer",
            }
        remedy = f"bring provider {provider} back; it is asked again by itself: bigfleet status"
        return Reason("rail.breaker", facts), remedy

    def _rail(self, row: int) -> Answer:
        reason = self._holds.rails[row]
        return reason, remedy_of_rail(reason, self._outcome.key(row).cluster)

    def _held_supply(self, row: int) -> Answer:
        hold = hold_of(int(self._states.progress.held_by[row]))
        rows = self._held_rows(row, hold)
        match hold:
            case HeldBy.QUOTA:
                return self._quota(rows)
            case HeldBy.BACKOFF:
                return self._backoff(rows)
            case _:
                facts = {"held": len(rows), "by": hold.value}
                return Reason("supply.none", facts), "bigfleet quarantines"

    def _quota(self, rows: list[int]) -> Answer:
        facts: dict[str, object] = {"held": len(rows)}
        scene = self._outcome.scene
        sources = scene.snapshot.tables.sources.rows
        providers = {sources[n] for n in scene.snapshot.columns.source[rows].tolist() if n >= 0}
        used_up = [q for q in self._holds.quotas if q.provider in providers]
        remedy = "bigfleet quotas list"
        if used_up:
            place = max(used_up, key=lambda q: (q.in_use - q.allocated, q.provider, q.region))
            facts |= {
                "provider": place.provider,
                "region": place.region or "no region",
                "inUse": place.in_use,
                "allocated": place.allocated,
            }
            region = place.region or "''"
            remedy = (
                f"bigfleet quotas set --provider {place.provider} --region {region}"
                " --total TOTAL --reason WHY"
            )
        return Reason("supply.quota", facts), remedy

    def _backoff(self, rows: list[int]) -> Answer:
        facts: dict[str, object] = {"held": len(rows)}
        resting = self._resting(rows)
        if resting is None:
            return Reason("supply.backoff", facts), "bigfleet reports offerings"
        facts |= {
            "until": _when(resting.next_probe_at),
            "offering": resting.name,
            "what": resting.text or resting.kind,
        }
        remedy = f"bigfleet reports offerings --reset {resting.name} --reason WHY"
        return Reason("supply.backoff", facts), remedy

    def _resting(self, rows: list[int]) -> OfferingView | None:
        """The back-off that covers one of these machines and ends first."""
        snapshot = self._outcome.scene.snapshot
        sources, offerings = snapshot.tables.sources.rows, snapshot.tables.offerings.table.rows
        found: list[OfferingView] = []
        pairs = {(int(snapshot.columns.source[r]), int(snapshot.columns.offering[r])) for r in rows}
        for source, number in pairs:
            listed = offerings[number]
            of = OfferingScope(
                sources[source] if source >= 0 else "",
                listed.instance_type,
                listed.zone,
                CapacityType(listed.capacity_type),
            )
            for view in self._holds.offerings:
                scope = scope_named(view.name)
                if scope is not None and covers(scope, of):
                    found.append(view)
        return min(found, key=lambda v: (v.next_probe_at, v.name), default=None)

    def _failing(self, row: int) -> Answer:
        known = self._holds.failing[self._outcome.key(row)]
        facts = {
            "failures": known.failures,
            "since": _when(known.since),
            "kind": known.kind,
            "machine": known.machine,
            "outcome": known.outcome,
            "what": f" ({known.text})" if known.text else "",
        }
        refs = (f"machine/{known.machine}",)
        return Reason("flight.failing", facts, refs), f"bigfleet machines story {known.machine}"

    def _stalled(self, row: int) -> Answer:
        states, ids = self._states, self._outcome.scene.snapshot.ids
        for state, _, step in _STEPS:
            rows = self._rows(row, state)
            if not rows:
                continue
            age = (self._holds.at - int(states.moved[row])) // SECOND
            facts: dict[str, object] = {"age": age, "count": len(rows), "step": step}
            patience = self._holds.patience.get(state)
            if patience is not None and patience.p95 is not None:
                facts["p95"] = round(patience.p95, 1)
            machine = ids[rows[0]]
            reason = Reason("flight.stalled", facts, (f"machine/{machine}",))
            return reason, f"bigfleet machines story {machine}"
        return self._met(row)

    def _stuck(self, row: int) -> Answer:
        cluster = self._outcome.key(row).cluster
        reason = Reason("pods.stuck", {"pods": int(self._states.stuck[row])})
        return reason, f"bigfleet clusters show {cluster}"

    # -- short -----------------------------------------------------------------------------------

    def _short(self, row: int) -> Answer:
        outcome = self._outcome
        more = "add machines or offerings that fit, or ask for less"
        match self._decision.unmet_reason(row):
            case UnmetReason.TOPOLOGY_UNSATISFIABLE:
                return self._topology(row)
            case UnmetReason.NO_MATCHING_SUPPLY:
                return Reason("supply.none", {"unfit": len(outcome.scene.snapshot)}), more
            case UnmetReason.PREEMPTION_EXHAUSTED:
                left = outcome.resources(outcome.preempted.unresolved[row].tolist())
                victims = int(outcome.preempted.count_of_need[row])
                facts = {"victims": victims, "unresolved": left.texts()}
                return Reason("preempt.exhausted", facts), more
            case _:
                return Reason("claim.higher"), f"{more}, or give it a higher priority"

    def _topology(self, row: int) -> Answer:
        outcome, needs = self._outcome, self._outcome.needs
        keys = outcome.scene.topology_keys
        if needs.same[row] < 0:
            key = keys[needs.spread[row]]
            return Reason("spread.skew", {"key": key}), f"add machines in other values of {key}"
        key = keys[needs.same[row]]
        remedy = f"add machines to one {key} until it holds all of it, or ask for less"
        if outcome.parked[row]:
            return Reason("same.parked"), remedy
        best = self._views.same_candidates(row)
        if not best:
            return Reason("same.no-domain", {"key": key}), remedy
        facts = {"key": key, "domain": best[0].domain, "percent": best[0].per_mille // 10}
        return Reason("same.too-small", facts), remedy

    # -- within ----------------------------------------------------------------------------------

    @property
    def _holds(self) -> Holds:
        return self._states.holds

    @property
    def _clusters(self) -> list[str]:
        return self._outcome.scene.snapshot.tables.clusters.rows

    def _rows(self, row: int, state: MachineState) -> list[int]:
        """Machines on their way for a Need that are at this step."""
        outcome, progress = self._outcome, self._states.progress
        if state is S.CONFIGURED:
            unusable = self._holds.nodes.unusable
            found: list[int] = unusable[outcome.credit.holder[unusable] == row].tolist()
            return found
        rows = progress.coming[progress.coming_need == row]
        at_step: list[int] = rows[outcome.scene.snapshot.columns.state[rows] == state].tolist()
        return at_step

    def _count(self, row: int, state: MachineState) -> int:
        states = (S.SPECULATIVE, S.IDLE) if state in (S.SPECULATIVE, S.IDLE) else (state,)
        return sum(int(self._at_step[each][row]) for each in states)

    @cached_property
    def _at_step(self) -> dict[MachineState, Int64s]:
        """Per Need, how many machines are at each step of their way."""
        outcome, progress = self._outcome, self._states.progress
        size, state = len(outcome), outcome.scene.snapshot.columns.state[progress.coming]
        found = {
            each: np.bincount(progress.coming_need[state == each], minlength=size)
            for each, _, _ in _STEPS
        }
        holders = outcome.credit.holder[self._holds.nodes.unusable]
        found[S.CONFIGURED] = np.bincount(holders[holders >= 0], minlength=size)
        return found

    def _held_rows(self, row: int, hold: HeldBy) -> list[int]:
        """Machines that fit a Need and are held in this way."""
        scene = self._outcome.scene
        rows = np.flatnonzero(scene.snapshot.columns.held == held_code(hold))
        fits = self._outcome.kinds.eligible[self._outcome.needs.key[row]]
        found: list[int] = rows[fits[scene.supply.kind[rows]]].tolist()
        return found


#: Not a table of the object's own methods: that would be a cycle, and whole decisions would wait
#: for the collector.
_OF_CAUSE: dict[Cause, Callable[[NeedReasons, int], Answer]] = {
    Cause.NONE: NeedReasons._met,
    Cause.NO_SUPPLY: NeedReasons._short,
    Cause.PAUSED: NeedReasons._paused,
    Cause.DRY_RUN: NeedReasons._dry_run,
    Cause.NO_OPERATOR: NeedReasons._no_operator,
    Cause.BREAKER: NeedReasons._breaker,
    Cause.RAIL: NeedReasons._rail,
    Cause.HELD_SUPPLY: NeedReasons._held_supply,
    Cause.FAILING: NeedReasons._failing,
    Cause.STALLED: NeedReasons._stalled,
    Cause.STUCK_PODS: NeedReasons._stuck,
    Cause.COMING: NeedReasons._coming,
    Cause.VICTIMS: NeedReasons._victims,
    Cause.JOINING: NeedReasons._coming,
    Cause.MARGIN: NeedReasons._margin,
}
#: Of the causes whose reasons all have the same code.
_CODE_OF_CAUSE: dict[int, str] = {
    Cause.NONE: "keep.order",
    Cause.PAUSED: "rail.paused",
    Cause.DRY_RUN: "rail.dry-run",
    Cause.NO_OPERATOR: "rail.no-operator",
    Cause.BREAKER: "rail.breaker",
    Cause.FAILING: "flight.failing",
    Cause.STUCK_PODS: "pods.stuck",
    Cause.VICTIMS: "flight.draining",
    Cause.MARGIN: "pods.margin",
}
