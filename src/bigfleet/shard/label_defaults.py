"""Label defaults: labels a machine has although its provider does not set them.

`kubernetes.io/os: linux` is in half of all pods, and few providers label their machines with it. So
the shard fills in what is missing before the engine sees a machine: linux and amd64, unless the
settings say otherwise, for all providers or for one. A label the provider sets always wins.
Defaults are part of the machine as the shard knows it, and are never sent to a provider.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bigfleet.model.requirements import HOSTNAME_KEY

#: Of every provider, unless the settings change or remove them.
BUILT_IN: Mapping[str, str] = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}

_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253
_SHAPE = "[PROVIDER:]KEY=VALUE, such as kubernetes.io/arch=arm64, or [PROVIDER:]KEY- for none"


class BadLabelDefault(ValueError):
    """The sentence says what to write instead."""


@dataclass(frozen=True, slots=True)
class LabelDefault:
    #: Empty: of all providers.
    provider: str
    key: str
    #: None: there is no default.
    value: str | None

    @property
    def subject(self) -> str:
        return f"{self.provider}:{self.key}" if self.provider else self.key


def label_default_of(said: str) -> LabelDefault:
    """Raises BadLabelDefault."""
    head, equals, value = said.partition("=")
    # Neither the key nor the value of a label has a colon; the name of a provider may.
    provider, colon, key = head.rpartition(":")
    if colon and not provider:
        raise BadLabelDefault(f"{said!r} has no provider before its colon; write {_SHAPE}")
    if not equals:
        if not key.endswith("-"):
            raise BadLabelDefault(f"{said!r} has no value; write {_SHAPE}")
        key = key.removesuffix("-")
    if problem := _why_not_key(key):
        raise BadLabelDefault(f"{said!r}: {problem}")
    if equals and not value:
        raise BadLabelDefault(f"{said!r} has no value; write {key}- for no default")
    if equals and not _WORD.fullmatch(value):
        raise BadLabelDefault(
            f"{said!r}: {value!r} is not a label value; use at most 63 letters, digits, '-', '_'"
            " and '.', the first and last a letter or digit"
        )
    return LabelDefault(provider, key, value if equals else None)


def label_defaults_of(said: Iterable[str], provider: str) -> Mapping[str, str]:
    """Of one provider; the start has checked how they are written."""
    meant = [label_default_of(text) for text in said]
    found: dict[str, str | None] = dict(BUILT_IN)
    found.update((each.key, each.value) for each in meant if not each.provider)
    found.update((each.key, each.value) for each in meant if each.provider == provider)
    return {key: value for key, value in sorted(found.items()) if value is not None}


def why_not_label_defaults(said: Iterable[str], providers: Iterable[str] | None) -> list[str]:
    """What is wrong with each, as sentences; no `providers`: they are not known yet."""
    known = None if providers is None else sorted(set(providers))
    problems, seen = [], set()
    for text in said:
        try:
            meant = label_default_of(text)
        except BadLabelDefault as problem:
            problems.append(str(problem))
            continue
        if known is not None and meant.provider and meant.provider not in known:
            there = f"there are {', '.join(known)}" if known else "it names none"
            problems.append(
                f"{text!r} is about a provider that provider_addr does not name; {there}"
            )
        if meant.subject in seen:
            problems.append(f"says {meant.subject} twice; keep one")
        seen.add(meant.subject)
    return problems


def _why_not_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _PREFIX.fullmatch(prefix)):
        return f"{prefix!r} is not a DNS name, which the part of a label key before '/' must be"
    if not _WORD.fullmatch(name):
        return (
            f"{key!r} is not a label key; use at most 63 letters, digits, '-', '_' and '.', the"
            " first and last a letter or digit, after an optional DNS name and '/'"
        )
    if key == HOSTNAME_KEY:
        return f"{key} is the name of one Node; it cannot be the same for all machines"
    return ""
