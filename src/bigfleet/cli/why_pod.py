"""`bigfleet why pod/CLUSTER/NAMESPACE/NAME` and `why cr/...`: from a pod to what it costs.

The cluster's API server is asked first, then the shard that serves the cluster.
"""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bigfleet.cli.connections import Clients, Connection
from bigfleet.cli.object_names import about_cluster, cluster_thing, require_cluster
from bigfleet.cli.request_options import EXIT_REFUSED, EXIT_UNREACHABLE
from bigfleet.cli.sources import EXIT_NOT_FOUND, Source
from bigfleet.cli.terminal import plain, refuse
from bigfleet.cli.whole_fleet import FleetAnswers, ask_fleet, known_in

if TYPE_CHECKING:
    from bigfleet.cli.pod_reading import ClusterSight
    from bigfleet.explain.pod_chain import PodAnswer
    from bigfleet.explain.pod_facts import ChainFacts, RequestFacts, SessionFacts, ShardFacts
    from bigfleet.model.explanations import NeedExplanation
    from bigfleet.model.needs import NeedKey
    from bigfleet.model.shard_views import MachineView, SessionView

#: The kubectl of a person asks faster than a controller may.
_QPS, _BURST = 100.0, 200
_STYLES = {"waits": "yellow", "missing": "red", "unknown": "yellow"}


@dataclass(frozen=True, slots=True)
class KubeOptions:
    kubeconfig: str
    context: str


def print_pod(
    connection: Connection, source: Source, name: str, kube: KubeOptions, candidates: int
) -> None:
    """Leaves with 3 where there is no such object, or the API server does not answer."""
    from bigfleet.explain.pod_chain import explain_pod

    kind, cluster, namespace, called = _parts(name)
    if not source.is_live or source.at is not None:
        said = f"{name}: a {kind} is told as it is now, from its API server and a live shard"
        raise refuse([f"{said}; leave --journal, --fleet and --at out"])
    sight = _sight(connection, kube, kind, cluster, namespace, called)
    answers: FleetAnswers[ShardFacts] | None = None
    silence: click.exceptions.Exit | None = None
    if sight.request is not None and sight.request.key is not None:
        try:
            answers = _served(connection, cluster, sight.request, candidates)
        except click.exceptions.Exit as left:
            silence = left  # what the cluster itself knows is told all the same
    shard = next(iter(answers.said.values())) if answers else None
    facts = _facts(cluster, sight, shard)
    more = {"shardId": next(iter(answers.said)), **answers.document()} if answers else {}
    _write(connection, name, explain_pod(facts), facts, more)
    if silence is not None:
        raise silence
    if answers is not None:
        answers.leave_partial(connection)


def _parts(name: str) -> tuple[str, str, str, str]:
    parts = name.split("/")
    if len(parts) != 4 or not all(parts):
        raise click.UsageError(f"{name!r}: write {parts[0]}/CLUSTER/NAMESPACE/NAME")
    kind, cluster, namespace, called = parts
    return kind, cluster, namespace, called


def _facts(cluster: str, sight: "ClusterSight", shard: "ShardFacts | None") -> "ChainFacts":
    from bigfleet.explain.pod_facts import ChainFacts

    return ChainFacts(
        cluster,
        sight.pod,
        sight.request,
        sight.requests_unread,
        sight.controller,
        sight.controller_unread,
        shard,
        sight.upcoming,
        sight.upcoming_unread,
        sight.node,
    )


# -- the API server --------------------------------------------------------------------------------


def _sight(
    connection: Connection, kube: KubeOptions, kind: str, cluster: str, namespace: str, name: str
) -> "ClusterSight":
    import asyncio

    from bigfleet.cli.pod_reading import UnknownObject
    from bigfleet.kube.answers import ApiProblem, Refused
    from bigfleet.kube.kubeconfigs import BadKubeconfig

    try:
        return asyncio.run(_read(connection, kube, kind, cluster, namespace, name))
    except BadKubeconfig as problem:
        raise refuse([str(problem)]) from None
    except UnknownObject as problem:
        click.echo(plain(f"{problem}, of cluster {cluster}"), err=True)
        raise click.exceptions.Exit(EXIT_NOT_FOUND) from None
    except ApiProblem as problem:
        click.echo(plain(f"the API server of cluster {cluster}: {problem.text}"), err=True)
        refused = isinstance(problem, Refused)
        raise click.exceptions.Exit(EXIT_REFUSED if refused else EXIT_UNREACHABLE) from None


async def _read(
    connection: Connection, kube: KubeOptions, kind: str, cluster: str, namespace: str, name: str
) -> "ClusterSight":
    from bigfleet import __version__
    from bigfleet.cli.pod_reading import PodReader
    from bigfleet.edge.driver import RealClock, draw
    from bigfleet.kube.connection import open_api
    from bigfleet.kube.kubeconfigs import account_of_person

    api = open_api(
        kube.kubeconfig,
        RealClock(),
        draw,
        qps=_QPS,
        burst=_BURST,
        user_agent=f"bigfleet/{__version__}",
        service_account=account_of_person(os.environ),
        context=kube.context,
        deadline_seconds=connection.timeout,
    )
    async with api:
        reader = PodReader(api, cluster, connection.now)
        of = reader.of_pod if kind == "pod" else reader.of_request
        return await of(namespace, name)


# -- the shard -------------------------------------------------------------------------------------


def _served(
    connection: Connection, cluster: str, request: "RequestFacts", candidates: int
) -> "FleetAnswers[ShardFacts]":
    """What the shard of the cluster knows; of several that know it, the one it is connected to."""

    async def look(shard: Clients) -> "ShardFacts":
        return await _look(shard, connection.now, cluster, request, candidates)

    asked = ask_fleet(connection, about_cluster(cluster, look))
    found = known_in(connection, asked, cluster_thing(cluster))

    def place(shard: str) -> tuple[bool, bool]:
        told = found.said[shard]
        connected = told.session is not None and told.session.is_connected
        return connected, bool(told.needs)

    best = max(found.said, key=place)
    return FleetAnswers({best: found.said[best]}, found.failed, found.addresses)


async def _look(
    shard: Clients, now: int, cluster: str, request: "RequestFacts", candidates: int
) -> "ShardFacts":
    from bigfleet.explain.pod_facts import ShardFacts
    from bigfleet.explain.pod_needs import needs_of_request
    from bigfleet.model.shard_views import NeedQuery

    assert request.key is not None
    sessions = await shard.admin.sessions(cluster_id=cluster)
    session = sessions[0] if sessions else None
    if session is None:
        await require_cluster(shard, cluster)
    rows = (await shard.admin.needs(NeedQuery(cluster))).rows
    needs, margins = needs_of_request(rows, request.key, request.unit)
    epoch = (await shard.admin.status()).epoch
    told = await _explained(shard, needs[0].view.need.key if needs else request.key, candidates)
    if told is not None and not needs:
        # A gang that is served together with its equals has no row of its own.
        needs = tuple(row for row in rows if row.view.need.key == told.view.need.key)
    keys = {row.view.need.key for row in (*needs, *margins)}
    return ShardFacts(
        _session(session, now),
        needs,
        margins,
        told,
        f"{epoch}:{told.cycle}" if told is not None else "",
        await _machines(shard, cluster, keys, told),
        _refused(session),
    )


async def _explained(shard: Clients, key: "NeedKey", candidates: int) -> "NeedExplanation | None":
    from bigfleet.model.explanations import ExplainNeedCall
    from bigfleet.model.provider_calls import Code, Rejected

    try:
        return await shard.admin.explain_need(ExplainNeedCall(key, 0, candidates))
    except Rejected as rejected:
        if rejected.code is Code.NOT_FOUND:
            return None
        raise


async def _machines(
    shard: Clients, cluster: str, keys: "set[NeedKey]", told: "NeedExplanation | None"
) -> "tuple[MachineView, ...]":
    """Of the Needs; those that are being created belong to no cluster yet and are asked by id."""
    from bigfleet.model.shard_views import MachineQuery, MachineSelector

    page = await shard.admin.machines(MachineQuery(MachineSelector(cluster=cluster)))
    found = {each.machine.id: each for each in page.machines if each.claimed_by in keys}
    steps = told.steps if told is not None else ()
    coming = {machine for step in steps for machine in step.machine_ids} - found.keys()
    if coming:
        query = MachineQuery(MachineSelector(ids=frozenset(coming)))
        more = (await shard.admin.machines(query)).machines
        found |= {each.machine.id: each for each in more if each.claimed_by in keys}
    return tuple(found[each] for each in sorted(found))


def _session(view: "SessionView | None", now: int) -> "SessionFacts | None":
    from bigfleet.explain.pod_facts import SessionFacts
    from bigfleet.model.options import SECOND

    if view is None:
        return None
    rolled = view.last_rollup_at
    age = max(0.0, (now - rolled) / SECOND) if rolled else None
    refusal = view.refused_rollup.text if view.refused_rollup is not None else ""
    return SessionFacts(view.connected, age, refusal)


def _refused(view: "SessionView | None") -> dict[str, str]:
    """Of a report that is not stale."""
    if view is None or view.report is None or view.report.stale:
        return {}
    return {each.machine_id: each.text for each in view.report.report.refused}


# -- as it is printed ------------------------------------------------------------------------------


def _write(
    connection: Connection,
    name: str,
    answer: "PodAnswer",
    facts: "ChainFacts",
    more: dict[str, Any],
) -> None:
    from bigfleet.cli.tables import Page, cell, table_of, write_json

    if connection.json:
        write_json({**pod_document(name, answer, facts), **more}, connection.now)
        return
    page = Page.on_stdout(connection.color)
    page.say(f"{answer.verdict.upper()}  {name}: {answer.sentence}", "bold")
    table = table_of("STEP", "STATUS", sentence="WHAT")
    for step in answer.steps:
        style = _STYLES.get(step.status, "")
        table.add_row(cell(step.name), cell(step.status, style), cell(step.text))
    page.show(table)
    for remedy in answer.remedies:
        page.say(f"then: {remedy}")
    page.write()


def pod_document(name: str, answer: "PodAnswer", facts: "ChainFacts") -> dict[str, Any]:
    from bigfleet.cli.why_need import need_document

    told = facts.shard.explanation if facts.shard is not None else None
    request = facts.request
    return {
        "object": name,
        "cluster": facts.cluster,
        "verdict": answer.verdict.name,
        "sentence": answer.sentence,
        "schedulerText": facts.pod.scheduler_text if facts.pod is not None else "",
        "node": facts.node.name if facts.node is not None else "",
        "machine": facts.node.machine if facts.node is not None else "",
        "capacityRequest": request.name if request is not None else "",
        "steps": [
            {
                "name": step.name,
                "status": step.status.name,
                "text": step.text,
                "refs": list(step.refs),
            }
            for step in answer.steps
        ],
        "dollarsPerHour": answer.dollars_per_hour,
        "remedies": list(answer.remedies),
        "need": need_document(told) if told is not None else None,
        "cycleName": facts.shard.cycle if facts.shard is not None else "",
    }
