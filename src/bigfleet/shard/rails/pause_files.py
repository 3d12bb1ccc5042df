"""What a pause file asks for.

An empty file pauses everything for as long as it lies there. Otherwise it is a YAML list of
{scope, owner, reason, expires}. A pause file is there to stop something, so one that cannot be
understood stops everything and says what is wrong with it.
"""

from dataclasses import dataclass
from typing import Any

import yaml

from bigfleet.fleetfile.yaml_dialect import decode_yaml
from bigfleet.model.actions import ActionKind
from bigfleet.model.durations import seconds_of
from bigfleet.model.instants import instant_of
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseScope, PauseSource

NEVER = "never"
_KIND_OF_WORD = {kind.name.lower(): kind for kind in ActionKind}
_ENTRY_KEYS = ("scope", "owner", "reason", "expires")
_SCOPE_KEYS = ("shard_ids", "cluster_ids", "kinds", "rebalance_only")


class Malformed(ValueError):
    """The text says where the file is wrong and what would be right."""


@dataclass(frozen=True, slots=True)
class FilePauses:
    pauses: tuple[Pause, ...]
    #: What is wrong or was changed; empty: nothing.
    complaints: tuple[str, ...] = ()
    malformed: bool = False


def file_pauses_of(
    text: str, since: Instant, default_ttl_seconds: float, max_ttl_seconds: float
) -> FilePauses:
    """`since`: when the file was written, which is when its times begin to run."""
    if not text.strip():
        return FilePauses((_everything("the pause file is there", since),))
    complaints: list[str] = []
    try:
        entries = _list_of(_decoded(text), "the file")
        pauses = tuple(
            _pause(entry, number, since, (default_ttl_seconds, max_ttl_seconds), complaints)
            for number, entry in enumerate(entries, start=1)
        )
    except Malformed as problem:
        why = f"the pause file cannot be understood, so everything is paused: {problem}"
        return FilePauses((_everything(why, since),), (why,), malformed=True)
    return FilePauses(pauses, tuple(complaints))


def _everything(reason: str, since: Instant) -> Pause:
    return Pause("file", PauseSource.FILE, PauseScope(), "pause file", reason, since)


def _decoded(text: str) -> Any:
    try:
        return decode_yaml(text)
    except (yaml.YAMLError, RecursionError) as problem:
        raise Malformed(f"it is not YAML: {' '.join(str(problem).split())}") from None


def _pause(
    entry: Any, number: int, since: Instant, ttls: tuple[float, float], complaints: list[str]
) -> Pause:
    where = f"entry {number}"
    known = _keys_of(entry, where, _ENTRY_KEYS)
    return Pause(
        f"file-{number}",
        PauseSource.FILE,
        _scope(known.get("scope") or {}, f"{where}: scope"),
        _text(known.get("owner"), f"{where}: owner") or "pause file",
        _text(known.get("reason"), f"{where}: reason") or "no reason given",
        since,
        _expiry(known.get("expires"), f"{where}: expires", since, ttls, complaints),
    )


def _scope(value: Any, where: str) -> PauseScope:
    known = _keys_of(value, where, _SCOPE_KEYS)
    only = known.get("rebalance_only", False)
    if not isinstance(only, bool):
        raise Malformed(f"{where}: rebalance_only is true or false, not {only!r}")
    return PauseScope(
        _words(known.get("shard_ids"), f"{where}: shard_ids"),
        _words(known.get("cluster_ids"), f"{where}: cluster_ids"),
        tuple(_kind(w, where) for w in _words(known.get("kinds"), f"{where}: kinds")),
        only,
    )


def _kind(word: str, where: str) -> ActionKind:
    kind = _KIND_OF_WORD.get(word.lower())
    if kind is None:
        raise Malformed(f"{where}: no kind {word!r}; there are {', '.join(_KIND_OF_WORD)}")
    return kind


def _expiry(
    value: Any, where: str, since: Instant, ttls: tuple[float, float], complaints: list[str]
) -> Instant | None:
    default, longest = (int(ttl * SECOND) for ttl in ttls)
    if value is None:
        return since + default
    if value == NEVER:
        return None
    text = str(value)
    until = instant_of(text)
    if until is None:
        seconds = seconds_of(text)
        if seconds is None:
            raise Malformed(
                f"{where}: {text!r} is not a time; write 2h, 2026-01-31T12:00:00Z or {NEVER}"
            )
        until = since + int(seconds * SECOND)
    if until > since + longest:
        complaints.append(f"{where}: cut to {longest // (3600 * SECOND)} h; write {NEVER} for more")
        return since + longest
    return until


def _keys_of(value: Any, where: str, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Malformed(f"{where} must be a mapping of {', '.join(known)}")
    strange = [key for key in value if key not in known]
    if strange:
        raise Malformed(f"{where} has no key {strange[0]!r}; there are {', '.join(known)}")
    return value


def _list_of(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Malformed(f"{where} must be a list")
    return value


def _words(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    words = [value] if isinstance(value, str) else _list_of(value, where)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise Malformed(f"{where} must be a list of words")
    return tuple(words)


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"{where} must be text, not {value!r}")
    return value
