"""A pod controller in the test's process, before an API server in the test's process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.driver import RealClock
from bigfleet.kube.api import Api, Writer
from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.podwatch.capacity_questions import CapacityQuestions
from bigfleet.podwatch.driving.process import PodwatchProcess
from bigfleet.podwatch.records import DemandSource
from bigfleet.podwatch.settings import PodwatchSettings
from bigfleet.process import ProcessContext
from bigfleet.provider.sim.clocks import ScaledClock
from tests.kube_api import FakeApiServer, api_for
from tests.podwatch.pods import Json


@dataclass(slots=True)
class Lines:
    """All that was logged: event and facts."""

    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def info(self, event: str, **facts: Any) -> None:
        self.said.append((event, facts))

    debug = warning = error = info

    def of(self, event: str) -> list[str]:
        return [str(facts.get("msg", "")) for name, facts in self.said if name == event]


def fast(speed: float = 20) -> Clock:
    """Waits of seconds take a fraction of them; what is waited for still happens for real."""
    return ScaledClock(RealClock(), speed)


@asynccontextmanager
async def running(
    server: FakeApiServer,
    *,
    identity: str = "a",
    lease_in: str = "bigfleet",
    clock: Clock | None = None,
    lines: Lines | None = None,
    questions: CapacityQuestions | None = None,
    **settings: Any,
) -> AsyncIterator[PodwatchProcess]:
    def connect(
        _settings: PodwatchSettings, context: ProcessContext, _counts: Any, writer: Writer
    ) -> Api:
        return api_for(server, context.clock, context.draw, writer=writer)

    chosen = PodwatchSettings(metrics_addr="127.0.0.1:0", **settings)
    context = ProcessContext(
        clock or RealClock(),
        lines or Lines(),
        draw=lambda: 0.5,
        identity=identity,
        version="1.2.3",
    )
    process = PodwatchProcess(chosen, context, lease_in, connect, questions)
    await process.start()
    try:
        yield process
    finally:
        await process.stop()


def requests(server: FakeApiServer, owner: str = "") -> list[Json]:
    """CapacityRequests on the server; of that owner, where it is named."""
    return [
        body
        for body in server.objects(CAPACITY_REQUESTS).values()
        if not owner or owner in _owners(body)
    ]


def _owners(body: Json) -> tuple[str, ...]:
    labels = body["metadata"].get("labels", {})
    return tuple(labels[each.value] for each in DemandSource if each.value in labels)


def acknowledge(server: FakeApiServer, body: Json) -> None:
    meta = body["metadata"]
    status = {"status": {"phase": "Acknowledged"}}
    server.change(CAPACITY_REQUESTS, meta["name"], status, meta["namespace"])
