"""Machines of all shards in one list, one of them, and what touched it."""

import json
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from heapq import merge
from http import HTTPStatus
from itertools import islice
from typing import Any

import msgspec
from starlette.routing import Route

from bigfleet.model.machine_selectors import BadSelector, selector_of, term_of
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.model.shard_admin import StoryCall
from bigfleet.model.shard_views import MachineQuery, MachineSelector, MachineView, SortBy
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Answers, Fleet, not_found
from bigfleet.web.further_schemas import MachineDetail, Machines, MachineStoryShape
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import bad
from bigfleet.wire.machine_documents import listed_machines, machine_document
from bigfleet.wire.machine_views import MACHINE_VIEW
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.shard_views import EVENT

DEFAULT_LIMIT, MOST = 100, 2_000
MOST_EVENTS = 1_000
#: Ids looked at for one that was meant.
_LOOKED_AT = 1_000
#: Numbers of states follow a machine's life.
_STATES = {f"MACHINE_STATE_{each.name}": int(each) for each in MachineState}
MACHINE = Param("id", "Id of a machine.", in_path=True, rooted=True, example="od-0001")


@dataclass(frozen=True, slots=True)
class MachineRoutes:
    fleet: Fleet

    async def machines(self, asked: Asked) -> dict[str, Any]:
        limit, shard = asked.lenient_number("limit"), asked.text("shard")
        by, descending = sort_in(asked)
        value, after = place_in(asked.text("after"), by)
        query = MachineQuery(
            selector_in(asked),
            limit=limit,
            after_id=after,
            sort=by,
            descending=descending,
            after_value=value,
            **flags_in(asked),
        )
        told = await self.fleet.ask(lambda client: listed_machines(client, query), shard)
        pages = told.require().said
        rows = [[{**row, "shardId": name} for row in page.rows] for name, page in pages.items()]
        merged = merge(*rows, key=partial(order_of, by=by), reverse=descending)
        shown = list(islice(merged, limit))
        more = sum(map(len, rows)) > len(shown) or any(len(some) == limit for some in rows)
        return {
            "total": sum(page.total for page in pages.values()),
            "machines": shown,
            **({"next": next_of(shown[-1], by)} if more and shown else {}),
            "shards": {
                name: {"cycle": page.cycle, "computedAtUnixNanos": page.computed_at}
                for name, page in pages.items()
            },
            **asked.head(),
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def machine(self, asked: Asked) -> dict[str, Any]:
        wanted = asked.text("id")
        query = MachineQuery(MachineSelector(ids=frozenset({wanted})))
        told = (await self.fleet.ask(lambda client: client.machines(query))).require()
        for shard, page in told.said.items():
            if page.machines:
                now = queried_at(self.fleet.clock.now())
                row = row_of(page.machines[0], shard)
                return {**row, "cycle": page.cycle, "queriedAt": now, **told.head()}
        raise not_found("machine", wanted, await nearest(self.fleet, wanted), _hint(told))

    async def story(self, asked: Asked) -> dict[str, Any]:
        """Of every shard that has or had it; those that do not know it are left out."""
        wanted, limit = asked.text("id"), asked.lenient_number("limit")
        told = await self.fleet.ask(lambda client: client.story(StoryCall(wanted, limit=limit)))
        unknown = {s for s, why in told.failed.items() if why.code is Code.NOT_FOUND}
        failed = {s: why for s, why in told.failed.items() if s not in unknown}
        known: Answers[Any] = Answers(told.said, failed)
        if unknown and not told.said:
            raise not_found("machine", wanted, await nearest(self.fleet, wanted), _hint(known))
        known.require()
        events = [
            {**EVENT.document(event), "shardId": shard}
            for shard, story in told.said.items()
            for event in story.events
        ]
        events.sort(key=lambda event: event["atUnixNanos"])
        now = next((s.machine for s in told.said.values() if s.machine is not None), None)
        return {
            **({"machine": MACHINE_VIEW.document(now)} if now is not None else {}),
            "events": events,
            "truncated": any(story.truncated for story in told.said.values()),
            "shards": sorted(told.said),
            **asked.head(),
            **known.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def selector_in(asked: Asked) -> MachineSelector:
    """`filter` is the terms of `bigfleet machines`, with blanks between them."""
    try:
        return selector_of(map(term_of, asked.text("filter").split()))
    except BadSelector as problem:
        raise bad("filter", str(problem)) from None


def sort_in(asked: Asked) -> tuple[SortBy, bool]:
    """By what, and whether from its end: `price`, `-price`."""
    said = asked.text("sort")
    name = said.removeprefix("-")
    if name == "id":
        name = SortBy.NAME
    if name not in tuple(SortBy):
        near = get_close_matches(name, list(SortBy), n=1, cutoff=0.4)
        known = ", ".join(SortBy)
        remedy = f"nearest is {near[0]}" if near else f"write one of {known}, with - for descending"
        raise bad("sort", f"{said[:100]!r} is not one of {known}", remedy)
    return SortBy(name), said.startswith("-")


def order_of(row: dict[str, Any], by: SortBy) -> tuple[Any, str]:
    """As its shard has it in its order."""
    machine = row["machine"]
    match by:
        case SortBy.STATE:
            return _STATES[machine["state"]], row["id"]
        case SortBy.CLUSTER:
            return machine["cluster"], row["id"]
        case SortBy.TYPE:
            return machine["instanceType"], row["id"]
        case SortBy.ZONE:
            return machine["zone"], row["id"]
        case SortBy.PRICE:
            return machine["pricePerHour"], row["id"]
        case SortBy.SINCE:
            return row["sinceUnixNanos"], row["id"]
        case SortBy.NAME:
            return "", row["id"]


def next_of(row: dict[str, Any], by: SortBy) -> str:
    """Where a page ends: the id, or by what the machine was listed and its id."""
    value, name = order_of(row, by)
    return name if by is SortBy.NAME else json.dumps([str(value), name], separators=(",", ":"))


def place_in(after: str, by: SortBy) -> tuple[str, str]:
    """The value and the id after which a page begins."""
    if by is SortBy.NAME or not after:
        return "", after
    try:
        value, name = msgspec.json.decode(after, type=tuple[str, str])
    except msgspec.MsgspecError:
        raise bad("after", f"{after[:100]!r} is not the `next` of an answer by {by}") from None
    return value, name


def flags_in(asked: Asked) -> dict[str, Any]:
    return {
        "only_pending": asked.flag("pending"),
        "only_unseen": asked.flag("unseen"),
        "only_reserved": asked.flag("reserved"),
        "failed_cause": asked.text("failedCause"),
    }


def row_of(view: MachineView, shard: str) -> dict[str, Any]:
    return {**machine_document(view), "shardId": shard}


async def nearest(fleet: Fleet, wanted: str) -> list[str]:
    """Ids that begin alike, of all shards."""

    async def near(client: ShardAdminClient) -> tuple[MachineView, ...]:
        prefix = MachineSelector(id_prefix=wanted[: max(1, len(wanted) // 2)])
        return (await client.machines(MachineQuery(prefix, limit=_LOOKED_AT))).machines

    told = await fleet.ask(near)
    return [view.machine.id for views in told.said.values() for view in views]


def _hint(told: "Answers[Any]") -> str:
    silent = ", ".join(told.failed)
    return f"{silent} gave no answer and may have it" if silent else "/machines lists all of them"


def operations(fleet: Fleet) -> list[Operation]:
    machines = MachineRoutes(fleet)
    limit = Param(
        "limit", "Rows at most.", kind="integer", default=DEFAULT_LIMIT, most=MOST, example="50"
    )
    return [
        Operation(
            "/machines",
            "listMachines",
            "Machines of all shards in one order. `next` is the `after` of the next page.",
            machines.machines,
            Machines,
            (
                Param(
                    "filter",
                    "Terms with blanks between them, all of which must hold: state= zone= type= "
                    "capacity= cluster= provider= label.KEY= id=PREFIX*, or an id.",
                    example="state=configured zone=a",
                ),
                Param(
                    "sort",
                    f"By one of {', '.join(SortBy)}, then by name; -price: the dearest first.",
                    default=SortBy.NAME,
                    pattern=f"^-?(id|{'|'.join(SortBy)})$",
                    example="-price",
                ),
                Param("after", "The `next` of the page before."),
                limit,
                Param("shard", "Only of this shard."),
                Param("pending", "Only those that something is under way for.", kind="boolean"),
                Param("unseen", "Only those the last Lists did not name.", kind="boolean"),
                Param("reserved", "Only those that are reserved for a Need.", kind="boolean"),
                Param("failedCause", "Only those that failed for this cause."),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND),
            example="/machines?filter=state=configured&limit=2",
        ),
        Operation(
            "/machines/{id}/story",
            "getMachineStory",
            "What touched a machine, oldest first; also of one that is gone.",
            machines.story,
            MachineStoryShape,
            (
                MACHINE,
                Param(
                    "limit",
                    "The newest so many.",
                    kind="integer",
                    default=MOST_EVENTS,
                    most=MOST_EVENTS,
                ),
            ),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/machines/od-0001/story?limit=20",
        ),
        # After the one below it: its id may hold slashes.
        Operation(
            "/machines/{id}",
            "getMachine",
            "One machine.",
            machines.machine,
            MachineDetail,
            (MACHINE,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/machines/od-0001",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
