"""Why a shape cannot be placed: what each domain of a gang offers, where a skew stops a spread."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.situation import Situation, demanded, need_name, total_of
from bigfleet.model.actions import UnmetReason
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.reasons import Reason

_ACQUIRABLE = (MachineState.IDLE, MachineState.SPECULATIVE)


def why_the_shape_fails(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    if verdict.need.profile.same is not None:
        if verdict.parked:
            yield _parked(situation, verdict)
        if verdict.domain is None:
            facts = {"key": verdict.need.profile.same.key}
            yield Reason("same.no-domain", facts, (need_name(verdict.need),), situation.cycle)
        elif not verdict.same_satisfiable:
            yield _too_small(situation, verdict, verdict.need.profile.same.key)
    elif verdict.unmet_reason is UnmetReason.TOPOLOGY_UNSATISFIABLE:
        yield from _skewed(situation, verdict)


def _parked(situation: Situation, verdict: Verdict) -> Reason:
    need = verdict.need
    facts: dict[str, Any] = {}
    age = situation.fleet.memory.parking.get(need.key)
    if age is not None and not need.parked:
        probe = situation.fleet.options.parking.probe
        facts = {"age": age, "probeAge": (age // probe + 1) * probe}
    return Reason("same.parked", facts, (need_name(need),), situation.cycle)


def _offered(situation: Situation, verdict: Verdict) -> list[FleetMachine]:
    """What fits and is the Need's own already, or free to take."""
    need = verdict.need
    own = frozenset(verdict.claimed)
    return [
        entry
        for entry in situation.fitting(need)
        if entry.machine.id in own or _is_free(situation, entry, need)
    ]


def _is_free(situation: Situation, entry: FleetMachine, need: Need) -> bool:
    machine_id = entry.machine.id
    return (
        entry.machine.state in _ACQUIRABLE
        and entry.marks.held is None
        and machine_id not in situation.holder_of_machine
        and not situation.reserved_for_other(machine_id, need)
    )


def _too_small(situation: Situation, verdict: Verdict, key: str) -> Reason:
    need = verdict.need
    domains: dict[str, list[FleetMachine]] = {}
    for entry in _offered(situation, verdict):
        value = entry.machine.attribute(key)
        if value:
            domains.setdefault(value, []).append(entry)
    chosen = domains.pop(verdict.domain or "", [])
    facts: dict[str, Any] = {
        "key": key,
        "domain": verdict.domain,
        "offered": demanded(total_of(chosen), need),
        "offeredMachines": len(chosen),
        "wanted": need.aggregate.positive().texts(),
    }
    if domains:
        following = min(domains, key=lambda value: (-len(domains[value]), value))
        facts |= {
            "nextDomain": following,
            "nextOffered": demanded(total_of(domains[following]), need),
        }
    return Reason("same.too-small", facts, (need_name(need),), situation.cycle)


def _skewed(situation: Situation, verdict: Verdict) -> Iterator[Reason]:
    spread = verdict.need.profile.strict_spread
    if spread is None:
        return
    key = spread.topology_key
    counts: Counter[str] = Counter()
    free: Counter[str] = Counter()
    own = frozenset(verdict.claimed)
    for entry in _offered(situation, verdict):
        value = entry.machine.attribute(key)
        if value:
            counts[value] += entry.machine.id in own
            free[value] += entry.machine.id not in own
    if not counts:
        return
    lowest = min(counts, key=lambda value: (counts[value], value))
    facts = {
        "key": key,
        "maxSkew": spread.max_skew,
        "free": sum(free.values()),
        "domains": sorted(value for value, count in free.items() if count),
        "lowest": lowest,
        "minimum": counts[lowest],
        "counts": dict(sorted(counts.items())),
    }
    yield Reason("spread.skew", facts, (need_name(verdict.need),), situation.cycle)
