"""What holds a fleet back, and what went wrong in it: pauses, quarantines, vetoes, offerings that
rest, machines that went back and forth."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.routing import Route

from bigfleet.model.shard_admin import PauseList
from bigfleet.web.answers import queried_at
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import (
    Offerings,
    Pauses,
    Quarantines,
    Regrets,
    Thrash,
    Verifiers,
)
from bigfleet.web.operations import Answering, Asked, Operation, Param
from bigfleet.web.problems import Problem
from bigfleet.wire.record_codecs import RecordCodec
from bigfleet.wire.regrets import REGRET
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.shard_views import OFFERING, PAUSE, QUARANTINE
from bigfleet.wire.thrash_findings import THRASH_FINDING
from bigfleet.wire.verifier_views import VERIFIER

SHARD = Param("shard", "Only of this shard.", example="shard-0")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RailRoutes:
    fleet: Fleet

    def rows(
        self,
        name: str,
        codec: RecordCodec[R, Any],
        question: Callable[[ShardAdminClient], Awaitable[Sequence[R]]],
    ) -> Answering:
        """Rows of all shards, each with its shard."""

        async def answer(asked: Asked) -> dict[str, Any]:
            told = (await self.fleet.ask(question, asked.text("shard"))).require()
            rows = [
                {**codec.document(row), "shardId": shard}
                for shard, some in told.said.items()
                for row in some
            ]
            return {name: rows, **told.head(), "queriedAt": queried_at(self.fleet.clock.now())}

        return answer

    async def pauses(self, asked: Asked) -> dict[str, Any]:
        """Each once, with who knows of it: the coordinator and its shards know the same ones."""
        expired = asked.flag("expired")
        told = await self.fleet.ask(lambda client: client.pauses(include_expired=expired))
        lead: PauseList | None = None
        warnings = told.warnings
        if self.fleet.coordinator is not None:
            try:
                lead = await self.fleet.lead(lambda c: c.pauses(include_expired=expired))
            except Problem as problem:
                warnings = [*warnings, problem.text]
        if lead is None:
            told.require()
        dry = [shard for shard, found in told.said.items() if found.dry_run]
        return {
            "pauses": united(told.said, lead),
            "dryRun": bool(dry),
            "dryRunShardIds": dry,
            **({"warnings": warnings} if warnings else {}),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }


def united(said: dict[str, PauseList], lead: PauseList | None) -> list[dict[str, Any]]:
    """The coordinator's first: shards hear of them, and have them directly too."""
    found: dict[object, dict[str, Any]] = {}
    for pause in lead.pauses if lead else ():
        document = {**PAUSE.document(pause), "coordinator": True, "shardIds": []}
        found[pause.pause_id, pause.scope] = document
    for shard, listed in said.items():
        for pause in listed.pauses:
            document = {**PAUSE.document(pause), "coordinator": False, "shardIds": []}
            known = found.setdefault((pause.pause_id, pause.scope), document)
            if shard not in known["shardIds"]:
                known["shardIds"].append(shard)
    return list(found.values())


def operations(fleet: Fleet) -> list[Operation]:
    rails = RailRoutes(fleet)

    async def verifier(client: ShardAdminClient) -> Sequence[Any]:
        return [await client.verifier()]

    async def regret(client: ShardAdminClient) -> Sequence[Any]:
        return [await client.regret()]

    return [
        Operation(
            "/pauses",
            "listPauses",
            "Who paused what, why, and until when.",
            rails.pauses,
            Pauses,
            (Param("expired", "Those that have ended too.", kind="boolean"),),
            example="/pauses",
        ),
        Operation(
            "/quarantines",
            "listQuarantines",
            "Roll-ups and Lists that are held since they look wrong.",
            rails.rows("quarantines", QUARANTINE, lambda client: client.quarantines()),
            Quarantines,
            (SHARD,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/quarantines",
        ),
        Operation(
            "/offerings",
            "listOfferings",
            "Offerings that rest after failed Creates; all others may be bought.",
            rails.rows("offerings", OFFERING, lambda client: client.offerings()),
            Offerings,
            (SHARD,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/offerings",
        ),
        Operation(
            "/thrash",
            "listThrash",
            "Machines that went back and forth in the last half hour, each with its trace.",
            rails.rows("findings", THRASH_FINDING, lambda client: client.thrash()),
            Thrash,
            (SHARD,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/thrash",
        ),
        Operation(
            "/regret",
            "getRegret",
            "What the last measured cycle of every shard costs per hour, against a lower bound; "
            "a shard that measures nothing says why.",
            rails.rows("regrets", REGRET, regret),
            Regrets,
            (SHARD,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/regret",
        ),
        Operation(
            "/verifier",
            "getVerifier",
            "What the verifier of every shard allows, vetoed and found broken.",
            rails.rows("verifiers", VERIFIER, verifier),
            Verifiers,
            (SHARD,),
            problems=(HTTPStatus.NOT_FOUND,),
            example="/verifier",
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
