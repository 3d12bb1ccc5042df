"""Why a shape cannot be placed: what each domain of a gang offers, where a skew stops a spread."""

from collections.abc import Iterator
from typing import Any

from bigfleet.engine.decision import Verdict
from bigfleet.explain.need_facts import NeedFacts, Offer, demanded, need_name
from bigfleet.model.actions import UnmetReason
from bigfleet.model.reasons import Reason
from bigfleet.model.resources import Resources


def why_the_shape_fails(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    if verdict.need.profile.same is not None:
        if verdict.parked:
            yield _parked(facts, verdict)
        if verdict.domain is None:
            said = {"key": verdict.need.profile.same.key}
            yield Reason("same.no-domain", said, (need_name(verdict.need.key),), facts.cycle)
        elif not verdict.same_satisfiable:
            yield _too_small(facts, verdict, verdict.need.profile.same.key)
    elif verdict.unmet_reason is UnmetReason.TOPOLOGY_UNSATISFIABLE:
        yield from _skewed(facts, verdict)


def _parked(facts: NeedFacts, verdict: Verdict) -> Reason:
    need = verdict.need
    said: dict[str, Any] = {}
    age = facts.parking_age(need)
    if age is not None and not need.parked:
        probe = facts.parking_probe
        said = {"age": age, "probeAge": (age // probe + 1) * probe}
    return Reason("same.parked", said, (need_name(need.key),), facts.cycle)


def _too_small(facts: NeedFacts, verdict: Verdict, key: str) -> Reason:
    need = verdict.need
    offers = dict(facts.offers(verdict, key))
    chosen = offers.pop(verdict.domain or "", Offer())
    said: dict[str, Any] = {
        "key": key,
        "domain": verdict.domain,
        "offered": demanded(_capacity(chosen), need),
        "offeredMachines": _count(chosen),
        "wanted": need.aggregate.positive().texts(),
    }
    if offers:
        following = min(offers, key=lambda value: (-_count(offers[value]), value))
        said |= {
            "nextDomain": following,
            "nextOffered": demanded(_capacity(offers[following]), need),
        }
    return Reason("same.too-small", said, (need_name(need.key),), facts.cycle)


def _count(offer: Offer) -> int:
    return offer.own.count + offer.free.count


def _capacity(offer: Offer) -> Resources:
    return offer.own.capacity.plus(offer.free.capacity)


def _skewed(facts: NeedFacts, verdict: Verdict) -> Iterator[Reason]:
    spread = verdict.need.profile.strict_spread
    if spread is None:
        return
    key = spread.topology_key
    offers = facts.offers(verdict, key)
    if not offers:
        return
    lowest = min(offers, key=lambda value: (offers[value].own.count, value))
    said = {
        "key": key,
        "maxSkew": spread.max_skew,
        "free": sum(offer.free.count for offer in offers.values()),
        "domains": sorted(value for value, offer in offers.items() if offer.free.count),
        "lowest": lowest,
        "minimum": offers[lowest].own.count,
        "counts": {value: offers[value].own.count for value in sorted(offers)},
    }
    yield Reason("spread.skew", said, (need_name(verdict.need.key),), facts.cycle)
