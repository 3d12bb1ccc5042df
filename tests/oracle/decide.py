"""decide: one cycle of the rules, from a fleet to its actions, verdicts and next memory."""

from dataclasses import dataclass

from bigfleet.model.actions import Action, ActionKind, Rule, UnmetReason
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from tests.oracle.acquisition import acquire_for_everybody
from tests.oracle.demand import by_precedence, demand_of
from tests.oracle.fold import fold
from tests.oracle.parking import ages_after, stamp_parked
from tests.oracle.preemption import Preemption, grace_seconds, preempt_for_everybody
from tests.oracle.prepass import credit_everybody
from tests.oracle.reasons import matching_supply, unmet_reason
from tests.oracle.release import excess, released
from tests.oracle.reservations import Reservations
from tests.oracle.shortfalls import shortfalls_after
from tests.oracle.standing import OracleNeed
from tests.oracle.stock import Stock

_EXCESS_GRACE_SECONDS = 600


@dataclass(frozen=True, slots=True)
class OracleVerdict:
    need: Need
    members: tuple[int, ...]
    folded: bool
    satisfied: bool
    deficit: Resources
    unresolved: Resources
    claimed: tuple[str, ...]
    bootstraps: int
    provisions: int
    preempts: int
    domain: str | None
    same_satisfiable: bool
    parked: bool
    matching_supply: bool
    unmet_reason: UnmetReason | None


@dataclass(frozen=True, slots=True)
class OracleDecision:
    actions: list[Action]
    verdicts: list[OracleVerdict]
    memory: EngineMemory


def decide(fleet: Fleet) -> OracleDecision:
    stock, options, memory = Stock(fleet), fleet.options, fleet.memory
    reservations = Reservations(memory, stock)
    standings = demand_of(fleet)
    if options.fold:
        standings = fold(standings, stock, reservations)
    reservations.end_before_phase_one(standings)
    stamp_parked(standings, memory.parking, options.parking, reservations)
    credit_everybody(standings, stock, reservations)
    acquire_for_everybody(standings, stock, reservations)
    reservations.end_after_phase_one(standings, fleet.now, options.reservation_margin_seconds)
    ages = ages_after(standings, memory.parking, reservations)
    preemption = preempt_for_everybody(standings, stock, reservations, options)
    actions = acquisitions(standings) + preemptions(standings, preemption)
    actions += reclaims(stock, preemption)
    claimed = set(preemption.claimed_by)
    for each in released(stock, claimed, reservations, options, fleet.now):
        actions.append(Action(ActionKind.DELETE, each.machine.id, "", Rule.RELEASE))
    return OracleDecision(
        actions,
        [verdict_of(s, stock) for s in standings],
        EngineMemory(
            reservations.live | new_reservations(fleet, standings, preemption),
            ages,
            shortfalls_after(standings, memory.shortfalls),
        ),
    )


def acquisitions(standings: list[OracleNeed]) -> list[Action]:
    return [
        acquisition(kind, rule, standing, each)
        for standing in standings
        for kind, rule, machines in (
            (ActionKind.BOOTSTRAP, Rule.IDLE, standing.bootstrapped),
            (ActionKind.PROVISION, Rule.SPECULATIVE, standing.provisioned),
        )
        for each in machines
    ]


def acquisition(kind: ActionKind, rule: Rule, standing: OracleNeed, each: FleetMachine) -> Action:
    return Action(
        kind,
        each.machine.id,
        standing.need.cluster,
        rule,
        need=standing.position,
        source_profile=standing.need.profile,
        source_group=standing.need.group,
    )


def preemptions(standings: list[OracleNeed], preemption: Preemption) -> list[Action]:
    return [
        Action(
            ActionKind.PREEMPT,
            each.machine.id,
            each.machine.cluster,
            Rule.INVERSION,
            grace_seconds=grace_seconds(preemption.gap(standing, each)),
            preemptor_priority=standing.need.profile.priority,
            need=standing.position,
            whole_domain=standing.takes_a_whole_domain,
        )
        for standing in by_precedence(standings)
        for each in standing.victims
    ]


def reclaims(stock: Stock, preemption: Preemption) -> list[Action]:
    return [
        Action(
            ActionKind.RECLAIM,
            each.machine.id,
            each.machine.cluster,
            Rule.EXCESS,
            grace_seconds=_EXCESS_GRACE_SECONDS,
        )
        for each in excess(stock, preemption)
    ]


def new_reservations(
    fleet: Fleet, standings: list[OracleNeed], preemption: Preemption
) -> dict[str, Reservation]:
    made: dict[str, Reservation] = {}
    for standing in standings:
        for each in standing.victims:
            expires_at = None
            if fleet.now is not None:
                wait = grace_seconds(preemption.gap(standing, each))
                margin = fleet.options.reservation_margin_seconds
                expires_at = fleet.now + wait * SECOND + int(margin * SECOND)
            made[each.machine.id] = Reservation(
                each.machine.id, ReservationKind.PREEMPTION, standing.key, expires_at
            )
    return made


def verdict_of(standing: OracleNeed, stock: Stock) -> OracleVerdict:
    return OracleVerdict(
        need=standing.need,
        members=standing.members,
        folded=standing.folded,
        satisfied=standing.satisfied,
        deficit=standing.deficit,
        unresolved=standing.unresolved,
        claimed=tuple(sorted(m.machine.id for m in standing.claimed)),
        bootstraps=len(standing.bootstrapped),
        provisions=len(standing.provisioned),
        preempts=len(standing.victims),
        domain=standing.domain,
        same_satisfiable=standing.same_satisfiable or standing.takes_a_whole_domain,
        parked=standing.parked,
        matching_supply=not standing.satisfied and matching_supply(standing, stock),
        unmet_reason=unmet_reason(standing, stock),
    )
