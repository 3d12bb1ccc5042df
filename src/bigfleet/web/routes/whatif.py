"""What a cycle would decide if the fleet were another: a read, though it is asked by POST."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.routing import Route

from bigfleet.model.errors import BadInput
from bigfleet.model.latencies import latencies_of
from bigfleet.model.what_if import WhatIfCall
from bigfleet.web.answers import queried_at
from bigfleet.web.bodies import body_of
from bigfleet.web.fleet import Fleet
from bigfleet.web.further_schemas import WhatIfRequest, WhatIfShape
from bigfleet.web.operations import Asked, Operation
from bigfleet.web.problems import bad
from bigfleet.web.routes.decisions import cycle_in
from bigfleet.whatif.document import document_of
from bigfleet.whatif.overlay_file import overlay_of
from bigfleet.whatif.summing import summed
from bigfleet.wire.shard_admin import WHAT_IF_DEADLINE

#: Problems of an overlay that are told.
_MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class WhatIfRoutes:
    fleet: Fleet

    async def what_if(self, asked: Asked) -> dict[str, Any]:
        said = await body_of(asked, WhatIfRequest)
        cycle = cycle_in(str(said.at))[1] if said.at else 0
        try:
            # The same reader as of `bigfleet whatif --overlay FILE`.
            edits = overlay_of(msgspec.json.encode(said.edits))
            latencies = latencies_of(said.latencies)
        except BadInput as problem:
            told = "; ".join(str(each) for each in problem.problems[:_MOST_TOLD])
            raise bad("edits", told) from None
        if said.latencies and not said.settle:
            raise bad("latencies", "they say how long steps take until the fleet settles", "settle")
        call = WhatIfCall(cycle, edits, said.settle, latencies)
        answers = await self.fleet.ask(
            lambda client: client.what_if(call), said.shard, WHAT_IF_DEADLINE
        )
        document = document_of(summed(answers.require().said))
        if answers.failed:
            document["warnings"] = [*document["warnings"], *answers.warnings]
        return {**document, "queriedAt": queried_at(self.fleet.clock.now())}


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/whatif",
            "whatIf",
            "Decides a cycle as it is and with the edits, and tells both sides. Changes nothing.",
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
