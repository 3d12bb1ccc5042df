"""The substrate as an operator sees it (`state`), and conditions on it (`step-until`)."""

import math
import operator
import re
from collections import Counter
from collections.abc import Mapping

from bigfleet.model.instants import instant_text
from bigfleet.provider.sim.world.distributions import duration_text
from bigfleet.provider.sim.world.state import Substrate
from bigfleet.provider.sim.world.supply import SimPool
from bigfleet.provider.sim.world.verbs import BadCommand, selector_of

_CONDITION = re.compile(r"(?P<selector>.*?)\s*(?P<sign>>=|<=|==|!=|>|<)\s*(?P<number>\d+)")
_SIGNS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def state_report(substrate: Substrate, what: str = "") -> Mapping[str, object]:
    """Everything, or one machine or the machines of a selector."""
    if what:
        slots = selector_of(what).slots(substrate.supply, substrate.state_of)
        if not slots:
            raise BadCommand(f"{what!r} is not a machine of this provider")
        return {"machines": [_machine(substrate, slot.id) for slot in slots]}
    return {
        "now": instant_text(substrate.now),
        "age": duration_text(substrate.age()),
        "machines": dict(
            sorted(Counter(map(substrate.state_of, substrate.supply.slots.values())).items())
        ),
        "pools": [_pool(substrate, pool) for _, pool in sorted(substrate.supply.pools.items())],
        "quotas": {
            region: {
                "hosts": substrate.supply.hosts_of_region.get(region, 0),
                "quota": _limit(quota),
            }
            for region, quota in sorted(substrate.supply.quota_of_region.items())
        },
        "operations": len(substrate.work),
        "held": sum(work.parked for work in substrate.work.values()),
        "faults": _faults(substrate),
        "scripted": len(substrate.script),
    }


def _pool(substrate: Substrate, pool: SimPool) -> dict[str, object]:
    return {
        "pool": pool.name,
        "region": pool.offering.region,
        "slots": len(pool.slots),
        "hosts": pool.hosts,
        "stock": str(pool.stock),
        "price": pool.price,
        "probability": pool.probability,
        "billed": round(substrate.billed(pool), 4),
    }


def _machine(substrate: Substrate, machine: str) -> dict[str, object]:
    slot = substrate.supply.slots[machine]
    host = slot.host
    found: dict[str, object] = {
        "id": slot.id,
        "state": substrate.state_of(slot),
        "pool": slot.pool.name,
        "host": host.ref if host else "",
        "cluster": host.cluster if host else "",
    }
    if host is not None and host.ends_at is not None:
        found["ends"] = instant_text(host.ends_at)
    return found


def _faults(substrate: Substrate) -> dict[str, object]:
    answers = substrate.answers
    return {
        "holds": [str(hold) for hold in substrate.faults.holds],
        "fail_next": [
            f"{f.step} {f.selector.text} {f.failure} x{f.left}"
            for f in substrate.faults.next_failures
        ],
        "failure_rate": dict(substrate.faults.failure_rate),
        "outage": sorted(answers.out),
        "rpc_error": {m: f"{code} {p:g}" for m, (code, p) in sorted(answers.errors.items())},
        "rpc_delay": answers.delay.text if answers.delay else "0",
        "wrong_lists": [wrong.how for wrong in answers.wrong],
        "wrong_describes": len(substrate.describe_shares),
    }


def _limit(quota: float) -> object:
    return "inf" if math.isinf(quota) else int(quota)


def condition_holds(substrate: Substrate, condition: str) -> bool:
    """`quiet` (nothing under way), or a selector, a sign and a number: `state=idle >= 5`."""
    if condition.strip() == "quiet":
        return not substrate.work
    match = _CONDITION.fullmatch(condition.strip())
    if match is None:
        raise BadCommand(
            f"{condition!r} is not a condition; write quiet, or a selector with a number, "
            "like state=configured >= 5"
        )
    found = selector_of(match["selector"]).slots(substrate.supply, substrate.state_of)
    return bool(_SIGNS[match["sign"]](len(found), int(match["number"])))
