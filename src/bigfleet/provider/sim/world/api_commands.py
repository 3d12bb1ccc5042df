"""The verbs about the provider's own API: outages, slowness, errors and wrong Lists."""

from collections.abc import Callable, Mapping

from bigfleet.model.provider_calls import Code
from bigfleet.provider.sim.world.answers import BAD_FIELDS, METHODS, WrongList
from bigfleet.provider.sim.world.arguments import count_of, fraction_of, switch_of
from bigfleet.provider.sim.world.distributions import distribution_of
from bigfleet.provider.sim.world.durations import nanos_of
from bigfleet.provider.sim.world.happenings import Command, Instruction
from bigfleet.provider.sim.world.state import Substrate
from bigfleet.provider.sim.world.verbs import BadCommand

Facts = Mapping[str, object]


def _method(name: str) -> str:
    for method in METHODS:
        if method.lower() == name.lower():
            return method
    raise BadCommand(f"{name!r} is no method; known are {', '.join(METHODS)}")


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
        raise BadCommand(f"{code!r} is no code; known are {', '.join(Code)}")
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
