"""Changes that a person makes: each says who, why, and until when; whether they are taken at all is
checked before a route is asked (safety.py).

The same calls as of the command line: to the coordinator, so that shards that start later hear of
it, and to every shard that is meant, so that it holds now.
"""

from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from starlette.routing import Route

from bigfleet.model.actions import ActionKind
from bigfleet.model.pauses import PauseScope, PauseSource
from bigfleet.model.provider_calls import Code
from bigfleet.model.shard_admin import Audit, PauseCall, ResumeCall
from bigfleet.model.shard_views import ClearMode, MachineQuery, MachineSelector
from bigfleet.web.answers import queried_at
from bigfleet.web.bodies import body_of
from bigfleet.web.fleet import Fleet, not_found
from bigfleet.web.further_schemas import (
    Cleared,
    ClearRequest,
    PausedShape,
    PauseRequest,
    ResetRequest,
    ResumedShape,
    ResumeRequest,
    TextShape,
)
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.problems import Problem, bad
from bigfleet.web.routes.machines import MACHINE, nearest, row_of
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.shard_views import PAUSE

_KINDS = {kind.label: kind for kind in ActionKind}
_MOST_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class WriteRoutes:
    fleet: Fleet

    async def pause(self, asked: Asked) -> dict[str, Any]:
        said = await body_of(asked, PauseRequest)
        if said.no_expiry == bool(said.ttl_seconds):
            raise bad("ttlSeconds", "say how long it is to last, or noExpiry: true")
        if said.ttl_seconds > _MOST_SECONDS:
            raise bad("ttlSeconds", f"at most {_MOST_SECONDS}, which are 30 days")
        if odd := [kind for kind in said.kinds if kind not in _KINDS]:
            raise bad("kinds", f"{odd[0][:100]!r} is not one of {', '.join(_KINDS)}")
        if odd := [shard for shard in said.shard_ids if shard not in self.fleet.shards]:
            raise not_found("shard", odd[0], self.fleet.shards)
        scope = PauseScope(
            tuple(said.shard_ids),
            tuple(said.cluster_ids),
            tuple(_KINDS[kind] for kind in said.kinds),
        )
        audit = _audit(said.owner, said.reason)
        # One id everywhere: the coordinator and its shards know it as the same pause.
        made_of = f"{self.fleet.clock.now()}\0{audit}\0{scope}"
        pause_id = sha256(made_of.encode(errors="replace")).hexdigest()[:10]
        call = PauseCall(audit, scope, said.ttl_seconds, said.no_expiry, pause_id)
        warnings: list[str] = []
        if self.fleet.coordinator is not None:
            try:
                await self.fleet.lead(lambda lead: lead.pause(call))
            except Problem as problem:
                warnings.append(f"{problem.text}; shards that start later do not hear of it")
        meant = said.shard_ids or list(self.fleet.shards)
        made: dict[str, Any] = {}
        for shard in meant:
            told = await self.fleet.ask(lambda client: client.pause(call), shard)
            warnings += told.warnings
            made |= told.said
        if not made:
            raise Problem(HTTPStatus.BAD_GATEWAY, f"nothing is paused: {'; '.join(warnings)}")
        pause = next(iter(made.values())).pause
        return {
            "pause": PAUSE.document(pause),
            "shardIds": list(made),
            **({"warnings": warnings} if warnings else {}),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def resume(self, asked: Asked) -> dict[str, Any]:
        said = await body_of(asked, ResumeRequest)
        if bool(said.pause_id) == said.everything:
            raise bad("pauseId", "name one pause, or say everything: true")
        call = ResumeCall(_audit(said.owner, said.reason), said.pause_id, said.everything)
        removed: dict[str, Any] = {}
        warnings: list[str] = []
        if self.fleet.coordinator is not None:
            # First, so that no shard hears of the pause again after it was lifted there.
            try:
                lifted = await self.fleet.lead(lambda lead: lead.resume(call))
                removed |= {pause.pause_id: pause for pause in lifted.removed}
            except Problem as problem:
                if problem.status is not HTTPStatus.NOT_FOUND:
                    warnings.append(problem.text)
        told = await self.fleet.ask(lambda client: client.resume(call))
        for done in told.said.values():
            removed |= {pause.pause_id: pause for pause in done.removed}
        # A shard does not lift what its coordinator told it: that ends with its next report.
        for shard, why in told.failed.items():
            if not (why.code in (Code.ABORTED, Code.NOT_FOUND) and removed):
                warnings.append(f"{shard}: {why.text}")
        if not removed:
            if told.failed and not told.said:
                told.require()
            raise await self._no_pause(said.pause_id)
        return {
            "removed": [PAUSE.document(pause) for pause in removed.values()],
            **({"warnings": warnings} if warnings else {}),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    async def _no_pause(self, wanted: str) -> Problem:
        told = await self.fleet.ask(lambda client: client.pauses())
        known = {p.pause_id: p for found in told.said.values() for p in found.pauses}
        held = known.get(wanted)
        if held is not None and held.source in (PauseSource.FLAG, PauseSource.FILE):
            text = f"pause {wanted} was set by a {held.source.name.lower()} of the shard"
            return Problem(HTTPStatus.CONFLICT, text, remedy="lift it there")
        return not_found("pause", wanted or "that can be lifted here", known)

    async def clear(self, asked: Asked) -> dict[str, Any]:
        said, wanted = await body_of(asked, ClearRequest), asked.text("id")
        shard = await self._shard_of(wanted)
        audit, mode = _audit(said.owner, said.reason), ClearMode[said.mode.upper()]
        done = await self.fleet.ask_one(shard, lambda client: client.clear(audit, wanted, mode))
        row = {"machine": row_of(done.machine, shard)} if done.machine is not None else {}
        now = queried_at(self.fleet.clock.now())
        return {"text": done.text, "shardId": shard, **row, "queriedAt": now}

    async def _shard_of(self, wanted: str) -> str:
        query = MachineQuery(MachineSelector(ids=frozenset({wanted})))
        told = (await self.fleet.ask(lambda client: client.machines(query))).require()
        for shard, page in told.said.items():
            if page.machines:
                return shard
        raise not_found("machine", wanted, await nearest(self.fleet, wanted))

    async def reset(self, asked: Asked) -> dict[str, Any]:
        said = await body_of(asked, ResetRequest)
        name = said.offering.removeprefix("offering/")
        resting = (await self.fleet.ask(lambda client: client.offerings())).require().said
        shards = [s for s, some in resting.items() if any(each.name == name for each in some)]
        if not shards:
            known = (each.name for some in resting.values() for each in some)
            raise not_found("resting offering", name, known, "/offerings lists those that rest")
        audit = _audit(said.owner, said.reason)

        async def act(client: ShardAdminClient) -> str:
            return await client.reset_offering(audit, name=name)

        texts = [await self.fleet.ask_one(shard, act) for shard in shards]
        now = queried_at(self.fleet.clock.now())
        return {"text": texts[0], "shardIds": shards, "queriedAt": now}


def _audit(owner: str, reason: str) -> Audit:
    for name, text in (("owner", owner), ("reason", reason)):
        if not text.strip():
            raise bad(name, f"{name} is missing: it is recorded and shown")
    return Audit(owner, reason)


def operations(fleet: Fleet) -> list[Operation]:
    writes = WriteRoutes(fleet)
    problems = (
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.CONFLICT,
    )
    return [
        Operation(
            "/pause",
            "pause",
            "Stops actions of a scope until a time; an empty scope is everything.",
            writes.pause,
            PausedShape,
            method="POST",
            body=PauseRequest,
            problems=problems,
            example='/pause {"owner": "ada", "reason": "drill", "ttlSeconds": 60}',
        ),
        Operation(
            "/resume",
            "resume",
            "Lifts a pause, or every pause that was set by a person.",
            writes.resume,
            ResumedShape,
            method="POST",
            body=ResumeRequest,
            problems=problems,
            example='/resume {"owner": "ada", "reason": "over", "everything": true}',
        ),
        Operation(
            "/machines/{id}/clear",
            "clearMachine",
            "Helps a Failed machine out: recheck, retry or forget.",
            writes.clear,
            Cleared,
            (MACHINE,),
            method="POST",
            body=ClearRequest,
            problems=problems,
        ),
        Operation(
            "/offerings/reset",
            "resetOffering",
            "Lets an offering that rests be bought again from the next cycle on.",
            writes.reset,
            TextShape,
            method="POST",
            body=ResetRequest,
            problems=problems,
        ),
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
