"""Deadlines of single providers: `aws.creating=30m` beside the deadlines of all of them.

The name of a provider may have dots of its own; that of a deadline has none.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from bigfleet.model.durations import seconds_of
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import DeadlineSettings

#: Those that are about what a provider does; the others are about how this shard looks at it.
_WITH: Mapping[str, Callable[[DeadlineSettings, Seconds], DeadlineSettings]] = {
    "creating": lambda before, seconds: replace(before, creating=seconds),
    "configuring": lambda before, seconds: replace(before, configuring=seconds),
    "draining_extra": lambda before, seconds: replace(before, draining_extra=seconds),
    "deleting": lambda before, seconds: replace(before, deleting=seconds),
    "join": lambda before, seconds: replace(before, join=seconds),
}


class BadOverride(ValueError):
    """The sentence says what would be one."""


@dataclass(frozen=True, slots=True)
class Override:
    provider: str
    deadline: str
    seconds: Seconds

    @property
    def name(self) -> str:
        return f"{self.provider}.{self.deadline}"


def override_of(said: str) -> Override:
    """Raises BadOverride."""
    name, equals, duration = said.partition("=")
    provider, dot, deadline = name.rpartition(".")
    if not (equals and dot and provider):
        raise BadOverride(f"{said!r} is not NAME.STATE=DURATION such as aws.creating=30m")
    if deadline not in _WITH:
        raise BadOverride(f"{said!r} names no deadline; there are {', '.join(_WITH)}")
    seconds = seconds_of(duration)
    if seconds is None:
        raise BadOverride(f"{said!r} has no duration such as 500ms, 30s or 1h30m")
    return Override(provider, deadline, Seconds(seconds))


def deadlines_by_provider(settings: DeadlineSettings) -> Mapping[str, DeadlineSettings]:
    """Of the providers that have some of their own; the start has checked how they are written."""
    found: dict[str, DeadlineSettings] = {}
    for own in map(override_of, settings.of_provider):
        before = found.get(own.provider, settings)
        found[own.provider] = _WITH[own.deadline](before, own.seconds)
    return found


def why_not_overridden(said: Iterable[str], providers: Iterable[str] | None) -> list[str]:
    """What is wrong with each, as sentences; no `providers`: they are not known yet."""
    known = None if providers is None else sorted(set(providers))
    problems, seen = [], set()
    for text in said:
        try:
            own = override_of(text)
        except BadOverride as problem:
            problems.append(str(problem))
            continue
        if known is not None and own.provider not in known:
            there = f"there are {', '.join(known)}" if known else "it names none"
            problems.append(
                f"{text!r} is about a provider that provider_addr does not name; {there}"
            )
        if own.name in seen:
            problems.append(f"says {own.name} twice; keep one")
        seen.add(own.name)
    return problems
