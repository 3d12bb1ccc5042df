"""What a cycle would decide if the fleet were another: a read, though it is asked by POST."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.routing import Route

from bigfleet.model.errors import BadInput
from bigfleet.model.latencies import latencies_of
from bigfleet.model.what_if import WhatIfAnswer, WhatIfCall
from bigfleet.web.answers import queried_at
from bigfleet.web.bodies import body_of
from bigfleet.web.departures import unless_gone
from bigfleet.web.fleet import Fleet, not_found
from bigfleet.web.further_schemas import WhatIfRequest, WhatIfShape
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.past import cycle_in, epoch_of
from bigfleet.web.problems import Problem, bad
from bigfleet.whatif.document import document_of
from bigfleet.whatif.overlay_file import overlay_of
from bigfleet.whatif.summing import summed
from bigfleet.whatif.sweep_axes import MOST_POINTS, axes_of, widened
from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE, ShardAdminClient

#: Problems of an overlay that are told.
_MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class WhatIfRoutes:
    fleet: Fleet

    async def what_if(self, asked: Asked) -> dict[str, Any]:
        said = await body_of(asked, WhatIfRequest)
        sweep, warnings = _sweep_of(said, asked)
        call, bases = _call_of(said, sweep), self._bases(str(said.at), said.shard)

        async def decide(shard: str, client: ShardAdminClient) -> WhatIfAnswer:
            epoch, cycle = bases.get(shard) or bases[""]
            if cycle:
                await epoch_of(client, epoch, cycle)
            return await client.what_if(replace(call, base_cycle=cycle))

        answers = await unless_gone(
            asked.request, self.fleet.ask_named(decide, said.shard, WHAT_IF_DEADLINE)
        )
        told = summed(answers.require().said)
        document = document_of(told)
        warnings += [*_shortcomings(call, told), *answers.warnings]
        return {
            **document,
            "warnings": [*document["warnings"], *warnings],
            **asked.head(),
            "queriedAt": queried_at(self.fleet.clock.now()),
        }

    def _bases(self, said: str, only: str) -> Mapping[str, tuple[int | None, int]]:
        """Epoch and cycle by shard, under the empty name those of any other; raises Problem."""
        if "@" not in said:
            return {"": cycle_in(said, "at") if said else (None, 0)}
        parts = (part.rpartition("@") for part in said.split(","))
        bases = {shard: cycle_in(cycle, "at") for shard, _, cycle in parts}
        if odd := [shard for shard in bases if shard not in self.fleet.shards]:
            raise not_found("shard", odd[0], self.fleet.shards)
        if missing := [s for s in ([only] if only else self.fleet.shards) if s not in bases]:
            text = f"it names no cycle of {missing[0]}: each shard counts its own"
            raise bad("at", text, "write SHARD@CYCLE,SHARD@CYCLE, or name one shard")
        return bases


def _call_of(said: WhatIfRequest, sweep: tuple[str, ...]) -> WhatIfCall:
    """Without its base; raises Problem."""
    try:
        # The same reader as of `bigfleet whatif --overlay FILE`.
        edits = overlay_of(msgspec.json.encode(said.edits))
        latencies = latencies_of(said.latencies)
    except BadInput as problem:
        raise _told("edits", problem) from None
    if said.latencies and not said.settle:
        raise bad("latencies", "they say how long steps take until the fleet settles", "settle")
    return WhatIfCall(0, edits, said.settle, latencies, sweep, said.machines)


def _sweep_of(said: WhatIfRequest, asked: Asked) -> tuple[tuple[str, ...], list[str]]:
    """Steps are made larger where there would be too many points, and it is said."""
    sweep, is_wider = widened(said.sweep)
    try:
        axes_of(sweep)
    except BadInput as problem:
        raise _told("sweep", problem) from None
    if not is_wider:
        return sweep, []
    asked.clamped["sweep"] = MOST_POINTS
    return sweep, [f"at most {MOST_POINTS} points: asked for as {' and '.join(sweep)}"]


def _told(field: str, problem: BadInput) -> Problem:
    return bad(field, "; ".join(str(each) for each in problem.problems[:_MOST_TOLD]))


def _shortcomings(call: WhatIfCall, told: WhatIfAnswer) -> list[str]:
    """What was asked for and did not come, or not whole."""
    missing = []
    if call.sweep and told.sweep is None:
        missing.append("a shard is older and does not sweep: update it")
    elif told.sweep is not None and not told.sweep.is_complete:
        done, size = len(told.sweep.points), told.sweep.size
        missing.append(f"the time was up after {done} of {size} points: write larger steps")
    if call.with_machines and told.fates is None:
        missing.append("a shard is older and does not name machines: update it")
    return missing


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/whatif",
            "whatIf",
            "Decides a cycle as it is and with the edits, and tells both sides; with `sweep` once "
            "for each value too. Changes nothing.",
            WhatIfRoutes(fleet).what_if,
            WhatIfShape,
            method="POST",
            body=WhatIfRequest,
            problems=(
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.FORBIDDEN,
                HTTPStatus.NOT_FOUND,
                HTTPStatus.SERVICE_UNAVAILABLE,
            ),
            example='/whatif {"edits": [{"zone-loss": "b"}]}',
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
