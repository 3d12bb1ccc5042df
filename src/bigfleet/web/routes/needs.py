"""Needs of one shard, in order of precedence, each with its state and why."""

from collections import OrderedDict
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.model.cluster_reports import DemandSource
from bigfleet.model.need_states import NeedState
from bigfleet.model.shard_views import NeedQuery
from bigfleet.web.answers import json_bytes, queried_at
from bigfleet.web.fleet import Fleet
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.problems import bad
from bigfleet.web.schemas import Needs
from bigfleet.wire.need_documents import listed_needs

DEFAULT_LIMIT, MOST = 2_000, 20_000
#: Answers that are kept, a few megabytes each at most.
_KEPT = 16
_STATES = {state.label: state for state in NeedState}


@dataclass(frozen=True, slots=True)
class CycleAnswers:
    """Answers of a cycle never change: the newest ones, as JSON without its last brace."""

    kept: OrderedDict[object, bytes] = field(default_factory=OrderedDict)

    def get(self, key: object) -> bytes | None:
        if key in self.kept:
            self.kept.move_to_end(key)
        return self.kept.get(key)

    def keep(self, key: object, document: dict[str, Any]) -> bytes:
        self.kept[key] = head = json_bytes(document)[:-1]
        while len(self.kept) > _KEPT:
            self.kept.popitem(last=False)
        return head


@dataclass(frozen=True, slots=True)
class NeedRoutes:
    fleet: Fleet
    answers: CycleAnswers = field(default_factory=CycleAnswers)

    async def needs(self, asked: Asked) -> bytes:
        shard, query = asked.text("shard"), self._query(asked)
        status = await self.fleet.ask_one(shard, lambda client: client.status())
        key = (shard, status.epoch, status.cycle, query)
        head = self.answers.get(key)
        if head is None:
            found = await self.fleet.ask_one(shard, lambda client: listed_needs(client, query))
            key = (shard, status.epoch, found["cycle"], query)
            head = self.answers.keep(key, {"shardId": shard, **found})
        rest = {**asked.head(), "queriedAt": queried_at(self.fleet.clock.now())}
        return head + b"," + json_bytes(rest)[1:]

    def _query(self, asked: Asked) -> NeedQuery:
        names = [name for name in asked.text("state").split(",") if name]
        if odd := [name for name in names if name not in _STATES]:
            raise bad("state", f"{odd[0][:100]!r} is not one of {', '.join(_STATES)}")
        source = asked.text("source")
        return NeedQuery(
            asked.text("cluster"),
            asked.lenient_number("limit"),
            tuple(_STATES[name] for name in names),
            asked.text("id"),
            (source,) if source else (),
        )


def operations(fleet: Fleet) -> list[Operation]:
    needs = NeedRoutes(fleet)
    return [
        Operation(
            "/needs",
            "listNeeds",
            "Needs of one shard in order of precedence. Cycle 0 and no Needs: it is rebuilding.",
            needs.needs,
            Needs,
            (
                Param("shard", "Which shard answers.", required=True, example="shard-0"),
                Param("cluster", "Only Needs of this cluster.", example="shop"),
                Param(
                    "limit",
                    "Rows at most.",
                    kind="integer",
                    default=DEFAULT_LIMIT,
                    most=MOST,
                    example="100",
                ),
                Param("state", f"Only these, with commas between: {', '.join(_STATES)}."),
                Param("id", "Only ids that begin so."),
                Param("source", "Only what this asks for.", choices=tuple(map(str, DemandSource))),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND),
            compatible=True,
            example="/needs?shard=shard-0&cluster=shop&limit=100",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
