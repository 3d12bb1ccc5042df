"""Decisions of all shards, newest first, page by page; and one cycle.

Each shard counts its own cycles, so the place where a page ends is one for each shard: `next` is
made here and given back as `before`.
"""

from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from typing import Any

from starlette.routing import Route

from bigfleet.model.actions import ActionKind
from bigfleet.model.machine_answers import CycleCall, CycleInputs, DecisionList, DecisionQuery
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import ActionView, NeedQuery
from bigfleet.web.answers import queried_at
from bigfleet.web.decision_documents import decision_document
from bigfleet.web.fleet import DEADLINE_SECONDS, PAST_SECONDS, Fleet
from bigfleet.web.further_schemas import CycleShape, Decisions
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.past import cycle_in, epoch_of, only_shard, past_cycle
from bigfleet.web.problems import Problem, bad
from bigfleet.wire.shard_admin import ShardAdminClient

#: A shard tells a thousand at once: a page, and those of its cycle that were shown before.
DEFAULT_LIMIT, MOST = 100, 500
_KINDS = {kind.label: kind for kind in ActionKind}
_PLACE = "write CYCLE or CYCLE.INDEX, or the `next` of an answer"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ends: rows of this cycle before this index are still to come."""

    cycle: int
    index: int = 0
    #: Rows of the cycle that were shown already.
    shown: int = 0

    @property
    def text(self) -> str:
        return f"{self.cycle}.{self.index}.{self.shown}"


@dataclass(frozen=True, slots=True)
class DecisionRoutes:
    fleet: Fleet

    async def decisions(self, asked: Asked) -> dict[str, Any]:
        limit, only = asked.lenient_number("limit"), asked.text("shard")
        before, after = places_in(asked, "before"), places_in(asked, "after")
        past = past_cycle(self.fleet, asked.text("at"), only) if asked.text("at") else None
        if past is not None:
            only, before = past.shard, before or {past.shard: Place(past.cycle + 1)}
        base = DecisionQuery(
            kinds=_kinds(asked),
            cluster=asked.text("cluster"),
            machine=asked.text("machine").removeprefix("machine/"),
            need=await self._need(asked.text("need")),
        )

        async def look(shard: str, client: ShardAdminClient) -> DecisionList:
            if past is not None:
                await epoch_of(client, past.epoch, past.cycle)
            return await _page(client, base, limit, _for(before, shard), _for(after, shard))

        seconds = PAST_SECONDS if before or after else DEADLINE_SECONDS
        told = (await self.fleet.ask_named(look, only, seconds)).require()
        rows = [(shard, v) for shard, found in told.said.items() for v in found.decisions]
        rows.sort(key=lambda row: (row[1].at, row[1].cycle, row[1].index), reverse=True)
        shown = list(islice(rows, limit))
        more = len(rows) > limit or any(found.truncated for found in told.said.values())
        return {
            "decisions": [decision_document(view, shard) for shard, view in shown],
            **({"next": next_of(shown, before, told.said)} if more and shown else {}),
            **asked.head(),
            **told.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def _need(self, name: str) -> NeedKey | None:
        """`need/CLUSTER/ID`; the first characters of an id are enough."""
        if not name:
            return None
        cluster, _, prefix = name.removeprefix("need/").rpartition("/")
        if not prefix:
            raise bad("need", f"{name[:100]!r} is not a Need; write need/CLUSTER/ID")
        query = NeedQuery(cluster, 2, (), prefix)
        told = (await self.fleet.ask(lambda client: client.needs(query))).require()
        keys = {row.view.need.key for each in told.said.values() for row in each.rows}
        if not keys:
            raise Problem(HTTPStatus.NOT_FOUND, f"no need {name[:200]}", field="need")
        if len(keys) > 1:
            raise bad("need", f"several needs begin with {prefix[:100]}; write more of it")
        return keys.pop()

    async def cycle(self, asked: Asked) -> dict[str, Any]:
        shard = asked.text("shard") or only_shard(self.fleet)
        epoch, number = cycle_in(asked.text("n"))
        status = await self.fleet.ask_one(shard, lambda client: client.status())
        if epoch not in (None, status.epoch):
            text = f"{shard} is in epoch {status.epoch}; cycles of epoch {epoch} are in its journal"
            raise Problem(HTTPStatus.NOT_FOUND, text, field="n")
        limit, first = asked.lenient_number("limit"), asked.number("first")
        call = CycleCall(number, limit, first)
        found = await self.fleet.ask_one(shard, lambda client: client.cycle(call), PAST_SECONDS)
        return {
            "shardId": shard,
            "epoch": status.epoch,
            "cycle": found.cycle,
            "atUnixNanos": found.at,
            "machines": found.machines,
            "needs": found.needs,
            "unsatisfiedNeeds": found.unsatisfied_needs,
            "totalActions": found.total_actions,
            "phaseSeconds": {name: ns / 1e9 for name, ns in sorted(found.nanos_of_phase.items())},
            "outputHash": found.output_digest.hex(),
            **({"inputs": _inputs_document(found.inputs)} if found.inputs else {}),
            "decisions": [decision_document(view, shard) for view in found.actions],
            **asked.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def _inputs_document(inputs: CycleInputs) -> dict[str, Any]:
    return {
        "hash": inputs.digest.hex(),
        "keyframe": inputs.keyframe,
        "machines": inputs.machines,
        "removedMachines": inputs.removed_machines,
        "clusters": inputs.clusters,
        "reservations": inputs.reservations,
    }


async def _page(
    client: ShardAdminClient, base: DecisionQuery, limit: int, before: Place, after: Place
) -> DecisionList:
    """Newest last, as a shard tells them; one more than the limit says that there are more."""
    query = DecisionQuery(
        # A range that begins somewhere makes the shard look into its journal too.
        from_cycle=after.cycle or (1 if before.cycle else 0),
        to_cycle=before.cycle,
        kinds=base.kinds,
        cluster=base.cluster,
        machine=base.machine,
        need=base.need,
        limit=limit + before.shown + 1,
    )
    found = await client.decisions(query)
    rows = [view for view in found.decisions if _is_between(view, before, after)]
    return DecisionList(tuple(rows[-limit - 1 :]), found.truncated and bool(rows))


def _is_between(view: ActionView, before: Place, after: Place) -> bool:
    at = (view.cycle, view.index)
    is_older = not before.cycle or at < (before.cycle, before.index)
    return is_older and (not after.cycle or at > (after.cycle, after.index))


def next_of(
    shown: list[tuple[str, ActionView]],
    before: dict[str, Place],
    said: dict[str, DecisionList],
) -> str:
    """The place of each shard: after its last row that is shown, or where it was."""
    places: dict[str, Place] = {}
    for shard in said:
        own = [view for name, view in shown if name == shard]
        if own:
            last = own[-1]
            known = _for(before, shard)
            again = known.shown if known.cycle == last.cycle else 0
            count = sum(view.cycle == last.cycle for view in own)
            places[shard] = Place(last.cycle, last.index, again + count)
        elif (known := _for(before, shard)).cycle:
            places[shard] = known
    return ",".join(f"{shard}@{place.text}" for shard, place in sorted(places.items()))


def _for(places: dict[str, Place], shard: str) -> Place:
    return places.get(shard) or places.get("") or Place(0)


def places_in(asked: Asked, name: str) -> dict[str, Place]:
    """By shard; under the empty name, of all of them."""
    found = {}
    for part in filter(None, asked.text(name).split(",")):
        shard, _, said = part.rpartition("@")
        words = said.split(".")
        if not 1 <= len(words) <= 3 or not all(w.isdecimal() and len(w) < 16 for w in words):
            raise bad(name, f"{part[:100]!r} is not a place among decisions", _PLACE)
        # A bare cycle after which rows are wanted leaves out all of that cycle.
        index = 2**31 if name == "after" and len(words) == 1 else 0
        found[shard] = Place(*map(int, words)) if len(words) > 1 else Place(int(words[0]), index)
    return found


def _kinds(asked: Asked) -> tuple[ActionKind, ...]:
    names = [name for name in asked.text("kind").split(",") if name]
    if odd := [name for name in names if name not in _KINDS]:
        raise bad("kind", f"{odd[0][:100]!r} is not one of {', '.join(_KINDS)}")
    return tuple(_KINDS[name] for name in names)


def operations(fleet: Fleet) -> list[Operation]:
    decisions = DecisionRoutes(fleet)
    limit = Param(
        "limit", "Rows at most.", kind="integer", default=DEFAULT_LIMIT, most=MOST, example="20"
    )
    shard = Param("shard", "Only of this shard.", example="shard-0")
    unknown = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
    return [
        Operation(
            "/decisions",
            "listDecisions",
            "What was decided, newest first. `next` is the `before` of the next page.",
            decisions.decisions,
            Decisions,
            (
                Param("after", f"Only newer ones; {_PLACE}."),
                Param("before", f"Only older ones; {_PLACE}."),
                Param("at", "Only up to this cycle of one shard, 18231 or 3:18231."),
                Param("kind", f"Only these, with commas between: {', '.join(_KINDS)}."),
                Param("cluster", "Only of this cluster.", example="shop"),
                Param("machine", "Only about this machine."),
                Param("need", "Only for this Need: need/CLUSTER/ID."),
                limit,
                shard,
            ),
            problems=unknown,
            example="/decisions?cluster=shop&limit=5",
        ),
        Operation(
            "/cycles/{n}",
            "getCycle",
            "One cycle: how much it had, what was new to it, and what it decided.",
            decisions.cycle,
            CycleShape,
            (
                Param("n", "18231 or 3:18231; 0 is the last one.", in_path=True, example="0"),
                shard,
                limit,
                Param("first", "Decisions from this one on.", kind="integer", default=0),
            ),
            problems=(*unknown, HTTPStatus.SERVICE_UNAVAILABLE),
            example="/cycles/0?limit=5",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
