"""The OpenAPI document of these routes."""

from dataclasses import dataclass, field
from typing import Any

from starlette.routing import Route

from bigfleet.web.answers import json_bytes
from bigfleet.web.fleet import Fleet
from bigfleet.web.openapi import all_operations, document_of
from bigfleet.web.operations import Asked, Operation


@dataclass(frozen=True, slots=True)
class Described:
    fleet: Fleet
    #: Made when it is first asked for.
    made: list[bytes] = field(default_factory=list)

    async def document(self, _asked: Asked) -> bytes:
        if not self.made:
            document = document_of(all_operations(self.fleet), self.fleet.version)
            self.made.append(json_bytes(document))
        return self.made[0]


def operations(fleet: Fleet) -> list[Operation]:
    return [
        Operation(
            "/openapi.json",
            "getOpenApi",
            "This document.",
            Described(fleet).document,
            dict[str, Any],
            example="/openapi.json",
        )
    ]


def routes(fleet: Fleet) -> list[Route]:
    return [each.route() for each in operations(fleet)]
