"""Needs of one shard, in order of precedence, each with its state and why."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.model.cluster_reports import DemandSource
from bigfleet.model.need_states import NeedState
from bigfleet.model.shard_views import NeedQuery, ShardStatus
from bigfleet.web.answers import json_bytes, queried_at
from bigfleet.web.fleet import DEADLINE_SECONDS, PAST_SECONDS, Fleet
from bigfleet.web.need_rows import NeedRowJson
from bigfleet.web.operations import Asked, Operation, Param
from bigfleet.web.past import cycle_in
from bigfleet.web.problems import Problem, bad
from bigfleet.web.schemas import Needs
from bigfleet.web.shared_work import SharedWork
from bigfleet.wire.need_documents import listed_needs

DEFAULT_LIMIT, MOST = 2_000, 20_000
#: Answers that are kept, and bytes of all of them.
_KEPT, _KEPT_BYTES = 16, 32 * 2**20
_STATES = {state.label: state for state in NeedState}


@dataclass(slots=True)
class CycleAnswers:
    """Answers of a cycle never change: the newest ones, as JSON without its last brace."""

    kept: OrderedDict[object, bytes] = field(default_factory=OrderedDict)
    most_bytes: int = _KEPT_BYTES
    size: int = 0

    def get(self, key: object) -> bytes | None:
        if key in self.kept:
            self.kept.move_to_end(key)
        return self.kept.get(key)

    def keep(self, key: object, document: dict[str, Any], rows: Sequence[bytes]) -> bytes:
        """`rows`: JSON each."""
        self.size -= len(self.kept.pop(key, b""))
        first = json_bytes(document)[:-1]
        self.kept[key] = head = b'%b,"needs":[%b]' % (first, b",".join(rows))
        self.size += len(head)
        while len(self.kept) > 1 and (len(self.kept) > _KEPT or self.size > self.most_bytes):
            self.size -= len(self.kept.popitem(last=False)[1])
        return head


@dataclass(frozen=True, slots=True)
class NeedRoutes:
    fleet: Fleet
    answers: CycleAnswers = field(default_factory=CycleAnswers)
    rows: NeedRowJson = field(default_factory=NeedRowJson)
    #: Of those who ask the same at the same time one asks the shard.
    asking: SharedWork[bytes] = field(default_factory=SharedWork)

    async def needs(self, asked: Asked) -> bytes:
        shard, query = asked.text("shard"), self._query(asked)
        key = shard, query, asked.text("at")
        head = await self.asking.do(key, lambda: self._head(*key))
        rest = {**asked.head(), "queriedAt": queried_at(self.fleet.clock.now())}
        return head + b"," + json_bytes(rest)[1:]

    async def _head(self, shard: str, asked: NeedQuery, at: str) -> bytes:
        """All but when it was asked."""
        status = await self.fleet.ask_one(shard, lambda client: client.status())
        query = replace(asked, cycle=_past_cycle(at, status))
        head = self.answers.get((shard, status.epoch, query.cycle or status.cycle, query))
        if head is None:
            seconds = PAST_SECONDS if query.cycle else DEADLINE_SECONDS
            self.rows.begin_page()
            told, rows = await self.fleet.ask_one(
                shard, lambda client: listed_needs(client, query, self.rows.of), seconds
            )
            key = (shard, status.epoch, told["cycle"], query)
            head = self.answers.keep(key, {"shardId": shard, **told}, rows)
        return head

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
            reason=asked.text("reason"),
            count_reasons=asked.flag("reasons"),
        )


def _past_cycle(at: str, status: ShardStatus) -> int:
    """0: the last one."""
    epoch, number = cycle_in(at, "at") if at else (None, 0)
    if epoch not in (None, status.epoch):
        told = f"{status.shard_id} is in epoch {status.epoch}"
        text = f"{told}; cycles of epoch {epoch} are in its journal"
        raise Problem(HTTPStatus.NOT_FOUND, text, field="at")
    return number


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
                Param("reason", "Only Needs with this code as their first reason."),
                Param("reasons", "Whether first reasons are counted.", kind="boolean"),
                Param("at", "A past cycle, 18231 or 3:18231; of it no Need is known to be met."),
            ),
            problems=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND),
            compatible=True,
            example="/needs?shard=shard-0&cluster=shop&limit=100",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
