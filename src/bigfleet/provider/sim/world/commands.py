"""What each control verb does to the substrate and to the answers of the provider's API.

A verb is refused whole, with a sentence, or carried out whole; both end in a Reply. Verbs that
concern the process or the clock are handed outside.
"""

from collections.abc import Callable, Mapping

import orjson

from bigfleet.model.errors import BadInput
from bigfleet.model.provider_calls import Code
from bigfleet.provider.sim.world.answers import BAD_FIELDS, METHODS, WrongList
from bigfleet.provider.sim.world.distributions import (
    BadDistribution,
    BadDuration,
    distribution_of,
    nanos_of,
)
from bigfleet.provider.sim.world.economy import add_offering, arm_walk, priced, set_risk, set_stock
from bigfleet.provider.sim.world.events import (
    Command,
    Failure,
    Instruction,
    Redescribe,
    Reply,
    RunOutside,
    Step,
)
from bigfleet.provider.sim.world.faults import Hold, NextFailure
from bigfleet.provider.sim.world.hosts import (
    CRASHES,
    end_host,
    fail_host,
    interrupt,
    is_spot,
    set_hazard,
)
from bigfleet.provider.sim.world.market import BadStock, limit_of, rate_of, stock_of
from bigfleet.provider.sim.world.offerings import KINDS, STEPS, offerings_of
from bigfleet.provider.sim.world.report import state_report
from bigfleet.provider.sim.world.state import Substrate
from bigfleet.provider.sim.world.supply import SimPool, Slot, SlotTaken
from bigfleet.provider.sim.world.verbs import (
    VERBS,
    BadCommand,
    BadSelector,
    Selector,
    count_of,
    fraction_of,
    number_of,
    selector_of,
    step_of,
    switch_of,
)
from bigfleet.provider.sim.world.work import release_parked

Facts = Mapping[str, object]


def _method(name: str) -> str:
    for method in METHODS:
        if method.lower() == name.lower():
            return method
    raise BadCommand(f"{name!r} is not a method; known are {', '.join(METHODS)}")


def _outage(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    named = {_method(word) for word in command.words("methods")} or set(METHODS)
    answers = substrate.answers
    answers.out = answers.out | named if switch_of(command, "switch") else answers.out - named
    return {"out": sorted(answers.out)}


def _rpc_delay(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    text = command.text("dist")
    substrate.answers.delay = None if text == "0" else distribution_of(text)
    return {"delay": text}


def _rpc_error(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    method, code = _method(command.text("method")), command.text("code").upper()
    if code not in list(Code):
        raise BadCommand(f"{code!r} is not a code; known are {', '.join(Code)}")
    chance = fraction_of(command, "p", 1.0)
    substrate.answers.errors.pop(method, None)
    if chance > 0 and code != Code.OK:
        substrate.answers.errors[method] = (Code(code), chance)
    return {"errors": {m: [c.value, p] for m, (c, p) in sorted(substrate.answers.errors.items())}}


def _wrong(substrate: Substrate, wrong: WrongList) -> Facts:
    substrate.answers.wrong.append(wrong)
    return {"pending": len(substrate.answers.wrong)}


def _list_empty(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    return _wrong(substrate, WrongList("empty", count_of(command, "n", 1)))


def _list_truncate(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    fraction = fraction_of(command, "fraction")
    return _wrong(substrate, WrongList("truncate", count_of(command, "n", 1), fraction))


def _list_stale(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    until = substrate.now + nanos_of(command.text("seconds"))
    return _wrong(substrate, WrongList("stale", until=until))


def _list_duplicate(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    return _wrong(substrate, WrongList("duplicate", count_of(command, "n", 1)))


def _list_bad_record(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    field = command.text("field")
    if field not in BAD_FIELDS:
        raise BadCommand(f"{field!r} cannot be made bad; known are {', '.join(BAD_FIELDS)}")
    return _wrong(substrate, WrongList("bad-record", count_of(command, "n", 1), field=field))


def _list_rebind(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    cluster = command.text("cluster")
    return _wrong(substrate, WrongList("rebind", count_of(command, "n", 1), field=cluster))


API_VERBS: Mapping[str, Callable[[Substrate, Command, list[Instruction]], Facts]] = {
    "outage": _outage,
    "rpc-delay": _rpc_delay,
    "rpc-error": _rpc_error,
    "list-empty": _list_empty,
    "list-truncate": _list_truncate,
    "list-stale": _list_stale,
    "list-duplicate": _list_duplicate,
    "list-bad-record": _list_bad_record,
    "list-rebind": _list_rebind,
}


Carry = Callable[[Substrate, Command, list[Instruction]], Facts]
_REFUSALS = (BadCommand, BadDistribution, BadDuration, BadInput, BadSelector, BadStock, SlotTaken)


def carry_out(substrate: Substrate, command: Command, out: list[Instruction]) -> None:
    if VERBS[command.verb].outside:
        out.append(RunOutside(command))
        return
    try:
        facts = CARRIED[command.verb](substrate, command, out)
    except _REFUSALS as problem:
        substrate.note("sim", "control.refused", verb=command.verb, problem=str(problem))
        out.append(Reply(problem=str(problem)))
        return
    if command.verb != "state":
        substrate.note("sim", f"control.{command.verb}", **dict(command.arguments))
    out.append(Reply(facts))


def _slots(substrate: Substrate, text: str) -> list[Slot]:
    found = selector_of(text).slots(substrate.supply, substrate.state_of)
    if not found:
        raise BadCommand(f"{text!r} is not a machine of this provider")
    return found


def _pools(substrate: Substrate, text: str) -> list[SimPool]:
    found = selector_of(text).pools(substrate.supply)
    if not found:
        known = ", ".join(sorted(substrate.supply.pools)[:6])
        raise BadCommand(f"{text!r} is not a pool; there are {known}")
    return found


def _named(substrate: Substrate, command: Command) -> list[Slot]:
    """Each word is an id or a selector of its own."""
    return [slot for word in command.words("ids") for slot in _slots(substrate, word)]


def _state(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    return state_report(substrate, command.text("what"))


def _fail(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    slots = [slot for slot in _slots(substrate, command.text("id")) if slot.host is not None]
    if not slots:
        raise BadCommand(f"{command.text('id')!r} has no host that could fail")
    for slot in slots:
        fail_host(substrate, slot, command.text("reason", "the host failed"), out)
    return {"machines": len(slots)}


def _fail_next(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    error = command.text("error", "error")
    if error not in list(Failure):
        raise BadCommand(f"{error!r} is not an error; known are {', '.join(Failure)}")
    selector = selector_of(command.text("select"))
    if selector.name:
        _slots(substrate, selector.name)
    staged = NextFailure(
        selector, step_of(command, "kind"), Failure(error), count_of(command, "count", 1)
    )
    substrate.faults.next_failures.append(staged)
    return {"left": staged.left}


def _vanish(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    slots = [slot for slot in _named(substrate, command) if slot.host is not None]
    for slot in slots:
        end_host(substrate, slot, "vanished", "the host is gone", out, silent=True)
    return {"machines": len(slots)}


def _remove(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    slots = _named(substrate, command)
    for slot in slots:
        end_host(substrate, slot, "removed", "the slot left the offering", out, silent=True)
        substrate.supply.remove(slot)
        substrate.note(slot.id, "slot.removed")
    out.append(Redescribe())
    return {"machines": len(slots)}


def _interrupt(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    selector = selector_of(command.text("select"))
    hosted = [
        slot
        for slot in selector.slots(substrate.supply, substrate.state_of)
        if slot.host is not None and not slot.host.interrupted and is_spot(slot.pool)
    ]
    wave = substrate.occurrence("wave", "sim")
    hosted.sort(key=lambda slot: (substrate.draws.digest("wave", slot.id, wave), slot.id))
    struck = hosted[: round(len(hosted) * fraction_of(command, "fraction", 1.0))]
    notice = command.text("notice")
    nanos = nanos_of(notice) if notice else substrate.rules.notice_nanos
    for slot in sorted(struck, key=lambda slot: slot.id):
        interrupt(substrate, slot, nanos, out)
    return {"machines": len(struck), "of": len(hosted)}


def _price(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    pools, text = _pools(substrate, command.text("select")), command.text("value")
    value = number_of(command, "value", text.removeprefix("x"))
    for pool in pools:
        pool.market.set_price(pool.price * value if text.startswith("x") else value)
        priced(substrate, pool, out)
    return {"pools": {pool.name: pool.price for pool in pools}}


def _probability(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    pools, value = _pools(substrate, command.text("select")), fraction_of(command, "value")
    if value == 0 and any(is_spot(pool) for pool in pools):
        raise BadCommand("spot is always at risk; write more than 0")
    for pool in pools:
        pool.probability = value
        set_risk(substrate, pool)
        priced(substrate, pool, out)
    return {"pools": len(pools)}


def _walk(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    substrate.walking = switch_of(command, "switch")
    arm_walk(substrate)
    return {"walk": substrate.walking}


def _stock(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    pools, stock = _pools(substrate, command.text("select")), stock_of(command.text("value"))
    for pool in pools:
        set_stock(substrate, pool, stock)
    return {"pools": len(pools), "stock": str(stock)}


def _quota(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    region = command.text("region")
    regions = {pool.offering.region for pool in substrate.supply.pools.values()}
    if region not in regions:
        raise BadCommand(f"{region!r} is not a region; there are {', '.join(sorted(regions))}")
    limit = limit_of(command.text("value"))
    substrate.supply.quota_of_region[region] = limit
    return {"region": region, "hosts": substrate.supply.hosts_of_region.get(region, 0)}


def _add(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    try:
        entry = orjson.loads(command.text("offering"))
    except ValueError as problem:
        raise BadCommand(f"the offering is not JSON: {problem}") from problem
    offerings = offerings_of(entry if isinstance(entry, list) else [entry])
    added = [slot for offering in offerings for slot in add_offering(substrate, offering)]
    out.append(Redescribe())
    return {"machines": len(added)}


def _latency(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    step = command.text("step")
    if step not in STEPS:
        raise BadCommand(f"{step!r} is not a step; known are {', '.join(STEPS)}")
    substrate.latency[step] = distribution_of(command.text("dist"))
    return {step: substrate.latency[step].text}


def _failure_rate(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    kind, value = command.text("kind"), fraction_of(command, "value")
    if kind == "crash":
        for pool in substrate.supply.pools.values():
            set_hazard(substrate, pool, CRASHES, rate_of(value))
    elif kind in KINDS:
        substrate.faults.failure_rate[kind] = value
    else:
        raise BadCommand(f"{kind!r} is not a kind; known are {', '.join(KINDS)} and crash")
    return {kind: value}


def _hold(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    step = None if command.text("kind") == "all" else step_of(command, "kind")
    substrate.faults.holds.append(Hold(step, selector_of(command.text("select"))))
    return {"holds": [str(hold) for hold in substrate.faults.holds]}


def _release(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    kind = command.text("kind")
    step: Step | None = None if kind in ("", "all") else step_of(command, "kind")
    selector: Selector = selector_of(command.text("select"))
    ended = substrate.faults.release(step, selector)
    return {"holds": ended, "operations": release_parked(substrate)}


def _describe_empty(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    substrate.describe_shares += [0.0] * count_of(command, "n", 1)
    return {"describes": len(substrate.describe_shares)}


def _describe_truncate(substrate: Substrate, command: Command, out: list[Instruction]) -> Facts:
    share = fraction_of(command, "fraction")
    substrate.describe_shares += [share] * count_of(command, "n", 1)
    return {"describes": len(substrate.describe_shares)}


CARRIED: Mapping[str, Carry] = {
    "state": _state,
    "fail": _fail,
    "fail-next": _fail_next,
    "vanish": _vanish,
    "remove": _remove,
    "interrupt": _interrupt,
    "price": _price,
    "probability": _probability,
    "walk": _walk,
    "stock": _stock,
    "quota": _quota,
    "add": _add,
    "latency": _latency,
    "failure-rate": _failure_rate,
    "hold": _hold,
    "release": _release,
    "describe-empty": _describe_empty,
    "describe-truncate": _describe_truncate,
    **API_VERBS,
}
