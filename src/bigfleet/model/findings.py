"""Findings: what is wrong with a fleet, each with what to do next.

Read off what shards and their coordinator say of themselves, and nothing is looked up beside it: a
person who has just been woken gets cause and next command from one answer. What a person can lift
comes first, who waits for it comes last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from bigfleet.model.coordination import CoordinatorStatus, QuotaAllocation
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.model.need_states import NeedState
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import Pause, PauseSource, scope_text
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import (
    MachineLoss,
    OfferingState,
    OfferingView,
    ProviderStatus,
    Quarantine,
    QuarantineKind,
    ShardStatus,
)

_UNMET = "bigfleet needs --unmet"
_LIFT_PAUSE = {
    PauseSource.FLAG: "restart the shard without --actuation-paused",
    PauseSource.FILE: "remove the pause file in the shard's data_dir, or its entry there",
}
_BY_PROVIDER = {
    "failed": "calls them Failed",
    "taken_back": "took them back",
    "vanished": "lists them no more",
}
_BY_CLUSTER = {
    "never_joined": "they never became Nodes",
    "node_gone": "their Nodes are gone",
    "unhealthy": "their Nodes stay unhealthy",
}
#: Clusters that are named; the others are counted.
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Finding:
    reason: Reason
    #: What a person has to know or to do.
    advice: str
    #: To be copied; empty where no command of ours helps.
    command: str = ""
    #: Who says so; empty: the coordinator.
    shards: tuple[str, ...] = ()

    @property
    def remedy(self) -> str:
        return f"{self.advice}: {self.command}" if self.command else self.advice

    def document(self) -> dict[str, Any]:
        told = self.reason
        return {
            "code": told.code,
            "text": told.text,
            "facts": dict(told.facts),
            "refs": list(told.refs),
            "advice": self.advice,
            "command": self.command,
            "shardIds": list(self.shards),
        }


def findings_of_shard(
    status: ShardStatus,
    quarantines: Iterable[Quarantine],
    offerings: Iterable[OfferingView],
) -> list[Finding]:
    found = [
        *_of_disk(status),
        *_of_providers(status.providers),
        *_of_coordinator(status),
        *_of_pauses(status),
        *map(_of_quarantine, quarantines),
        *_of_rails(status),
        *_of_offerings(offerings),
        *_of_losses(status),
        *_of_failed(status),
        *_of_needs(status),
    ]
    return [replace(each, shards=(status.shard_id,)) for each in found]


def findings_of_fleet(
    of_shards: Iterable[Sequence[Finding]],
    replicas: Iterable[CoordinatorStatus],
    quotas: Iterable[QuotaAllocation],
    pauses: Iterable[Pause],
) -> list[Finding]:
    """What several shards say in the same words is told once. `pauses`: of the coordinator."""
    own = [
        *_of_replicas(replicas),
        *_of_quotas(quotas),
        *map(_of_pause, pauses),
    ]
    united: dict[tuple[str, str], Finding] = {}
    for each in (*own, *(one for some in of_shards for one in some)):
        # A pause of a whole fleet is known by its shards too, and perhaps a moment later.
        told = str(each.reason.facts.get("pause", "")) or each.reason.text
        known = united.setdefault((each.reason.code, told), each)
        if known is not each:
            united[each.reason.code, told] = replace(
                known, shards=tuple(dict.fromkeys((*known.shards, *each.shards)))
            )
    return list(united.values())


# -- a shard -------------------------------------------------------------------------------------


def _of_disk(status: ShardStatus) -> Iterator[Finding]:
    advice = "free or mend the disk of its data_dir on the shard's host; it is tried again all the"
    advice, look = f"{advice} time", f"df -h {quote(status.data_dir)}" if status.data_dir else ""
    if status.store_error and status.store_error != status.journal_error:
        yield Finding(Reason("rail.store", {"problem": status.store_error}), advice, look)
    if status.journal_degraded or status.journal_error:
        problem = status.journal_error or "the journal cannot be written"
        yield Finding(Reason("rail.journal", {"problem": problem}), advice, look)


def _of_providers(providers: Iterable[ProviderStatus]) -> Iterator[Finding]:
    for each in providers:
        if not each.breaker_open:
            continue
        facts = {"provider": each.name, "address": each.address}
        if each.last_list_at:
            error = each.last_error or "no answer"
            facts |= {"since": _when(each.last_list_at), "error": error}
        yield Finding(
            Reason("rail.breaker", facts),
            f"bring provider {each.name} at {each.address} back, it is then asked again by itself;"
            " who waits for it",
            _UNMET,
        )


def _of_coordinator(status: ShardStatus) -> Iterator[Finding]:
    link = status.coordinator
    if link is None or link.connected:
        return
    facts = {"address": link.address, "error": link.last_error or "no answer"}
    if link.last_report_at:
        facts["since"] = _when(link.last_report_at)
    advice = f"bring the coordinator at {link.address} back; how its replicas are"
    command = f"bigfleet status --coordinator {link.address}"
    yield Finding(Reason("rail.coordinator", facts), advice, command)


def _of_pauses(status: ShardStatus) -> Iterator[Finding]:
    # One of a whole fleet comes twice: from the command line and from the coordinator.
    yield from map(_of_pause, {each.pause_id: each for each in status.pauses}.values())
    if status.dry_run:
        advice = "set dry_run: false for the shard and send it SIGHUP"
        yield Finding(Reason("rail.dry-run"), advice)


def _of_pause(pause: Pause) -> Finding:
    ends = f"until {_when(pause.expires_at)}" if pause.expires_at is not None else "until lifted"
    facts = {
        "pause": pause.pause_id,
        "source": pause.source.name.lower(),
        "scope": scope_text(pause.scope),
        "owner": pause.who or pause.source.name.lower(),
        "why": pause.reason or "no reason given",
        "since": _when(pause.created_at),
        "ends": ends,
    }
    elsewhere = _LIFT_PAUSE.get(pause.source, "")
    command = "" if elsewhere else f"bigfleet resume {pause.pause_id} --reason WHY"
    return Finding(Reason("rail.paused", facts), elsewhere or "to lift it", command)


def _of_quarantine(held: Quarantine) -> Finding:
    facts = {
        "what": held.what or f"{held.observed:,} of {held.baseline:,} came",
        "since": _when(held.since),
        "until": _when(held.accepts_after),
    }
    if held.kind is QuarantineKind.ROLLUP:
        return Finding(
            Reason("rail.quarantine.rollup", {"cluster": held.subject, **facts}),
            f"if {held.subject} was emptied on purpose, believe it, else see that its operator"
            " reports all of its demand",
            f"bigfleet quarantines release rollup {quote(held.subject)} --accept --reason WHY",
        )
    return Finding(
        Reason("rail.quarantine.list", {"provider": held.subject, **facts}),
        f"if these machines are really gone, believe it, else mend provider {held.subject}",
        f"bigfleet quarantines release list {quote(held.subject)} --accept --reason WHY",
    )


def _of_rails(status: ShardStatus) -> Iterator[Finding]:
    if status.clusters_refused:
        reason = Reason("rail.rollup-refused", {"clusters": status.clusters_refused})
        yield Finding(reason, "why, for each of them", "bigfleet clusters")
    if status.verifier_error:
        reason = Reason("rail.verifier-broken", {"problem": status.verifier_error})
        yield Finding(reason, "what it allows, and what it vetoed", "bigfleet reports verifier")
    if status.verifier_incidents:
        facts = {"invariant": status.verifier_incident, "incidents": status.verifier_incidents}
        reason = Reason("rail.verifier", facts)
        yield Finding(reason, "all incidents", "bigfleet reports verifier")


def _of_offerings(known: Iterable[OfferingView]) -> Iterator[Finding]:
    # A half-open one is bought as soon as a Need wants it.
    offerings = [each for each in known if each.state is OfferingState.OPEN]
    if not offerings:
        return
    first = min(offerings, key=lambda each: (each.next_probe_at, each.name))
    facts: dict[str, object] = {
        "offering": first.name,
        "since": _when(min(each.opened_at for each in offerings)),
        "until": _when(first.next_probe_at),
        "what": first.text or first.kind,
    }
    advice = "what fits elsewhere is bought meanwhile; when there is stock again"
    command = f"bigfleet reports offerings --reset {quote(first.name)} --reason WHY"
    if len(offerings) > 1:
        facts["others"] = len(offerings) - 1
        advice = "what fits elsewhere is bought meanwhile; all of them, and how to reset them"
        command = "bigfleet reports offerings"
    refs = tuple(f"offering/{each.name}" for each in offerings)
    yield Finding(Reason("rail.backoff", facts, refs), advice, command)


def _of_losses(status: ShardStatus) -> Iterator[Finding]:
    """What a provider does is told by kind of machine, what a cluster does by cluster."""
    waves: dict[tuple[str, ...], list[MachineLoss]] = {}
    for each in status.losses:
        wave: tuple[str, ...] = (each.cause, each.cluster)
        if each.cause in _BY_PROVIDER:
            wave = (each.cause, each.provider, each.capacity_type.label)
        waves.setdefault(wave, []).append(each)
    for losses in waves.values():
        yield _of_wave(losses) if losses[0].cause in _BY_PROVIDER else _of_lost_nodes(losses)
    if status.lost_waiting:
        reason = Reason("nodes.lost", {"waiting": status.lost_waiting})
        advice = "see that these clusters report their Nodes right"
        yield Finding(reason, advice, "bigfleet clusters")


def _of_wave(losses: Sequence[MachineLoss]) -> Finding:
    newest = max(losses, key=lambda each: each.last_at)
    said = f" ({newest.text})" if newest.text else ""
    facts = {
        "clusters": _clusters_in(losses),
        "capacityType": newest.capacity_type.label,
        "provider": newest.provider,
        "how": f"{_BY_PROVIDER[newest.cause]}{said}",
        **_facts_of(losses),
    }
    reason = Reason("machines.lost", facts, (f"machine/{newest.example}",))
    return Finding(reason, "they are replaced by themselves; who still waits", _UNMET)


def _of_lost_nodes(losses: Sequence[MachineLoss]) -> Finding:
    newest = max(losses, key=lambda each: each.last_at)
    facts = {
        "cluster": newest.cluster,
        "how": _BY_CLUSTER.get(newest.cause, newest.cause),
        **_facts_of(losses),
    }
    advice = "they are given back and replaced by themselves; what happened to the last of them"
    command = f"bigfleet machines story {quote(newest.example)}"
    return Finding(Reason("nodes.lost", facts, (f"machine/{newest.example}",)), advice, command)


def _facts_of(losses: Sequence[MachineLoss]) -> dict[str, object]:
    return {
        "machines": sum(each.machines for each in losses),
        "since": _when(min(each.first_at for each in losses)),
        "last": _when(max(each.last_at for each in losses)),
    }


def _of_failed(status: ShardStatus) -> Iterator[Finding]:
    if status.failed_machines:
        reason = Reason("machines.failed", {"machines": status.failed_machines})
        yield Finding(
            reason, "why, and what brings each of them back", "bigfleet machines --failed"
        )


def _of_needs(status: ShardStatus) -> Iterator[Finding]:
    counts = status.need_states
    if counts is None or not (counts.blocked or counts.short or status.stuck_pods):
        return
    waiting = (NeedState.BLOCKED, NeedState.SHORT)
    said = [f"{counts.count(state):,} {state.label}" for state in waiting if counts.count(state)]
    if status.stuck_pods:
        said.append(f"{status.stuck_pods:,} pods stuck")
    waits = counts.blocked + counts.short
    facts: Mapping[str, object] = (
        {"waiting": waits, "needs": counts.total, "states": ", ".join(said)}
        if waits
        else {"pods": status.stuck_pods}
    )
    yield Finding(Reason("needs.waiting", facts), "why, and what helps each of them", _UNMET)


# -- a coordinator -------------------------------------------------------------------------------


def _of_replicas(replicas: Iterable[CoordinatorStatus]) -> Iterator[Finding]:
    for each in replicas:
        if each.store_error:
            facts = {"replica": each.replica_id, "problem": each.store_error}
            advice = f"free or mend the disk or the store of coordinator {each.replica_id}"
            yield Finding(Reason("rail.store", facts), advice)


def _of_quotas(quotas: Iterable[QuotaAllocation]) -> Iterator[Finding]:
    for each in quotas:
        used = sum(each.in_use.values())
        if used < each.total:
            continue
        facts: Mapping[str, object] = {
            "allocated": each.total,
            "inUse": used,
            "provider": each.provider,
            "region": each.region or "no region",
        }
        yield Finding(
            Reason("rail.quota", facts),
            "nothing more is bought there; with a larger quota of the provider",
            f"bigfleet quotas set --provider {quote(each.provider)} --region {quote(each.region)}"
            " --total TOTAL --reason WHY",
        )


def _clusters_in(losses: Iterable[MachineLoss]) -> list[str]:
    names = sorted({each.cluster for each in losses})
    left = len(names) - _MOST_NAMED
    return names if left <= 0 else [*names[:_MOST_NAMED], f"{left} more clusters"]


def _when(instant: Instant) -> str:
    """To the second: people act on nothing finer."""
    return instant_text(instant // SECOND * SECOND)
