"""The verbs about the provider's own API: outages, slowness, errors and wrong Lists."""

from collections.abc import Callable, Mapping

from bigfleet.model.provider_calls import Code
from bigfleet.provider.sim.world.answers import BAD_FIELDS, METHODS, WrongList
from bigfleet.provider.sim.world.arguments import count_of, fraction_of, switch_of
from bigfleet.provider.sim.world.distributions import distribution_of
from bigfleet.provider.sim.world.durations import nanos_of
from bigfleet.provider.sim.world.happenings import Command, Instruction
from bigfleet.provider.sim.world.state import World
from bigfleet.provider.sim.world.verbs import BadCommand

Facts = Mapping[str, object]


def _method(name: str) -> str:
    for method in METHODS:
        if method.lower() == name.lower():
            return method
    raise BadCommand(f"{name!r} is no method; known are {', '.join(METHODS)}")


def _outage(world: World, command: Command, out: list[Instruction]) -> Facts:
    named = {_method(word) for word in command.words("methods")} or set(METHODS)
    answers = world.answers
    answers.out = answers.out | named if switch_of(command, "switch") else answers.out - named
    return {"out": sorted(answers.out)}


def _rpc_delay(world: World, command: Command, out: list[Instruction]) -> Facts:
    text = command.text("dist")
    world.answers.delay = None if text == "0" else distribution_of(text)
    return {"delay": text}


def _rpc_error(world: World, command: Command, out: list[Instruction]) -> Facts:
    method, code = _method(command.text("method")), command.text("code").upper()
    if code not in list(Code):
        raise BadCommand(f"{code!r} is no code; known are {', '.join(Code)}")
    chance = fraction_of(command, "p", 1.0)
    world.answers.errors.pop(method, None)
    if chance > 0 and code != Code.OK:
        world.answers.errors[method] = (Code(code), chance)
    return {"errors": {m: [c.value, p] for m, (c, p) in sorted(world.answers.errors.items())}}


def _wrong(world: World, wrong: WrongList) -> Facts:
    world.answers.wrong.append(wrong)
    return {"pending": len(world.answers.wrong)}


def _list_empty(world: World, command: Command, out: list[Instruction]) -> Facts:
    return _wrong(world, WrongList("empty", count_of(command, "n", 1)))


def _list_truncate(world: World, command: Command, out: list[Instruction]) -> Facts:
    fraction = fraction_of(command, "fraction")
    return _wrong(world, WrongList("truncate", count_of(command, "n", 1), fraction))


def _list_stale(world: World, command: Command, out: list[Instruction]) -> Facts:
    until = world.now + nanos_of(command.text("seconds"))
    return _wrong(world, WrongList("stale", until=until))


def _list_duplicate(world: World, command: Command, out: list[Instruction]) -> Facts:
    return _wrong(world, WrongList("duplicate", count_of(command, "n", 1)))


def _list_bad_record(world: World, command: Command, out: list[Instruction]) -> Facts:
    field = command.text("field")
    if field not in BAD_FIELDS:
        raise BadCommand(f"{field!r} cannot be made bad; known are {', '.join(BAD_FIELDS)}")
    return _wrong(world, WrongList("bad-record", count_of(command, "n", 1), field=field))


def _list_rebind(world: World, command: Command, out: list[Instruction]) -> Facts:
    cluster = command.text("cluster")
    return _wrong(world, WrongList("rebind", count_of(command, "n", 1), field=cluster))


API_VERBS: Mapping[str, Callable[[World, Command, list[Instruction]], Facts]] = {
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
