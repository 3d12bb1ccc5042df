"""One box for everything: machines, Needs, clusters, shards, offerings, decisions, pages."""

import re
from dataclasses import dataclass
from typing import Any

from starlette.routing import Route

from bigfleet.model.machine_answers import CycleCall
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.shard_views import MachineQuery, MachineSelector, NeedQuery
from bigfleet.web.answers import queried_at
from bigfleet.web.decision_documents import sentence_of
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import SearchShape
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.wire.shard_admin import ShardAdminClient

MOST = 20
#: Of one kind, so that no kind hides the others.
_MOST_OF_A_KIND = 8
_PAGES = {
    "Overview": "/",
    "Fleet map": "/map",
    "Needs": "/needs",
    "Decisions": "/decisions",
    "Machines": "/machines",
    "Clusters": "/clusters",
    "Costs": "/costs",
    "Topology": "/topology",
    "What-if": "/whatif",
}
_KIND = re.compile(r"(machine|need|cluster|shard|offering|action)/")
_NEED_ID = re.compile(r"n[0-9a-f]{1,12}")
_ACTION = re.compile(r"(\d{1,15})\.(\d{1,9})")
Result = dict[str, str]


def result(kind: str, name: str, title: str, detail: str = "") -> Result:
    return {"kind": kind, "name": name, "title": title, "detail": detail}


@dataclass(frozen=True, slots=True)
class Searching:
    fleet: Fleet

    async def search(self, asked: Asked) -> dict[str, Any]:
        text = asked.text("q").strip()
        found: list[Result] = []
        warnings: list[str] = []
        if text:
            found = _pages(text)
            told = await self.fleet.ask_named(lambda shard, client: _in_shard(shard, client, text))
            warnings = told.warnings
            for results in told.said.values():
                found += results
            found += [result("shard", s, s) for s in self.fleet.shards if text.lower() in s.lower()]
        return {
            "results": ranked(found, _bare(text))[:MOST],
            **({"warnings": warnings} if warnings else {}),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def _bare(text: str) -> str:
    """Without the kind that may stand before a name."""
    return text[found.end() :] if (found := _KIND.match(text)) else text


def ranked(found: list[Result], text: str) -> list[Result]:
    """The very name first, then names that begin so, then all others; each once."""
    wanted = text.lower()

    def rank(each: Result) -> tuple[int, int, str]:
        name = each["title"].lower()
        place = 0 if name == wanted else 1 if name.startswith(wanted) else 2
        return (place, len(name), name)

    once = {(each["kind"], each["name"]): each for each in found}
    return sorted(once.values(), key=rank)


def _pages(text: str) -> list[Result]:
    return [
        result("page", path, title)
        for title, path in _PAGES.items()
        if text.lower() in title.lower()
    ]


async def _in_shard(shard: str, client: ShardAdminClient, text: str) -> list[Result]:
    bare, found = _bare(text), list[Result]()
    query = MachineQuery(MachineSelector(id_prefix=bare), limit=_MOST_OF_A_KIND)
    for view in (await client.machines(query)).machines:
        machine = view.machine
        detail = " ".join(filter(None, (machine.state.label, machine.cluster, machine.zone)))
        found.append(result("machine", f"machine/{machine.id}", machine.id, f"{detail}, {shard}"))
    sessions = await client.sessions()
    for each in sessions:
        if bare.lower() in each.cluster.lower():
            detail = f"{each.needs} needs, {shard}"
            found.append(result("cluster", f"cluster/{each.cluster}", each.cluster, detail))
    for offering in await client.offerings():
        if bare.lower() in offering.name.lower():
            name = f"offering/{offering.name}"
            found.append(result("offering", name, offering.name, f"rests, {shard}"))
    if _ACTION.fullmatch(bare):
        found += await _action(shard, client, bare)
    # A Need is found by its id, or by the cluster that asks for it.
    cluster, _, prefix = bare.rpartition("/")
    if _NEED_ID.fullmatch(prefix):
        listed = await client.needs(NeedQuery(cluster, _MOST_OF_A_KIND, (), prefix))
        for row in listed.rows:
            key = row.view.need.key
            detail = f"{row.state_label}, priority {row.view.need.profile.priority}, {shard}"
            name = f"need/{key.cluster}/{key.need_id}"
            found.append(result("need", name, f"{key.cluster}/{key.need_id}", detail))
    return found


async def _action(shard: str, client: ShardAdminClient, text: str) -> list[Result]:
    cycle, index = map(int, text.split("."))
    try:
        found = await client.cycle(CycleCall(cycle, 1, index))
    except Rejected as why:
        if why.code in (Code.NOT_FOUND, Code.OUT_OF_RANGE, Code.UNAVAILABLE):
            return []
        raise
    return [
        result("decision", f"action/{text}", text, f"{sentence_of(each)[:200]}, {shard}")
        for each in found.actions
    ]


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/search",
            "search",
            f"Up to {MOST} objects of all kinds whose names begin with, or have, the words.",
            Searching(fleet).search,
            SearchShape,
            (Param("q", "What is looked for.", required=True, example="shop"),),
            example="/search?q=shop",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
