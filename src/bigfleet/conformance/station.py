"""A running provider with what rows need around it: connection, broker, capabilities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bigfleet.conformance.broker import Broker
from bigfleet.conformance.capabilities import Capabilities
from bigfleet.conformance.hand import Hand, Shards
from bigfleet.conformance.lab import Lab, Running
from bigfleet.conformance.pace import Clock, Pace
from bigfleet.conformance.probes import probe
from bigfleet.conformance.wirelog import WireLog

if TYPE_CHECKING:
    from bigfleet.wire.provider_client import ProviderClient


@dataclass(slots=True)
class Station:
    running: Running
    client: "ProviderClient"
    capabilities: Capabilities
    broker: Broker

    async def close(self) -> None:
        await self.client.close()
        await self.running.kill()


async def open_station(
    lab: Lab, running: Running, clock: Clock, pace: Pace, *, faults: bool = False
) -> Station:
    """Probe the provider, then survey what is left for the rows."""
    client = lab.connect(running)
    hand = Hand(client, clock, pace, Shards("broker", clock), WireLog())
    can = Capabilities(fault=faults, restart=lab.why_no_boot() is None)
    can.seed = can.restart
    for gate in ("restart", "seed"):
        can.evidence[gate] = lab.why_no_boot() or ""
    records = (await hand.listing()).records
    await probe(hand, can, records)
    broker = Broker(hand, can)
    await broker.survey()
    return Station(running, client, can, broker)
