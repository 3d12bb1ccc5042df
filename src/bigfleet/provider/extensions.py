"""Ways into the server for a Backend that needs more than its calls: the sim's control API.

They are registered in `Backend.open` and read once, when the server starts to listen. An ordinary
provider registers nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bigfleet.edge.pages import Route

if TYPE_CHECKING:  # a Backend's tests need no gRPC
    from bigfleet.wire.provider_server import ExtraService, ProviderHandler


@dataclass(slots=True)
class Extensions:
    #: Further gRPC services on the provider's port.
    services: "list[ExtraService]" = field(default_factory=list)
    #: Path prefix -> who answers, on the metrics port.
    routes: dict[str, Route] = field(default_factory=dict)
    #: Wraps the six RPCs: outages, slow answers, wrong Lists.
    wrap_handler: "Callable[[ProviderHandler], ProviderHandler] | None" = None
    #: Called before every commit; raising makes the commit fail.
    before_commit: Callable[[], None] | None = None
    #: Asks for a describe now; set by the server once it runs.
    describe_now: Callable[[], None] = lambda: None
