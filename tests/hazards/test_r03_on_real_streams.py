"""R03 with real gRPC: an operator that never reads stalls neither cycles nor other sessions."""

from dataclasses import replace
from pathlib import Path

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import SessionSettings
from bigfleet.wire.session_client import SessionClient
from tests.shard_system.demand import LOW
from tests.shard_system.operators import end_of, hello_of, operating
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until
from tests.up.unhurried_clock import UnhurriedClock

UPDATES, MACHINES = 10_000, 5_000
#: Far more than gRPC buffers for a stream that is not read.
LABELS = {f"label-{n}": "x" * 50 for n in range(20)}
PATIENT_FOR_A_SECOND = replace(
    QUICK, session=SessionSettings(stall_timeout=Seconds(1.0), outbox_frames=2 * MACHINES)
)


def updates_for(shard: ShardRig, cluster: str) -> None:
    states = (MachineState.CONFIGURING, MachineState.CONFIGURED)
    for number in range(UPDATES):
        update = NodeStateUpdate(
            f"m{number % MACHINES}", cluster, states[number % 2], labels=LABELS
        )
        shard.process.state.parts.sessions.send(cluster, update)


async def test_r03_a_client_that_never_reads_is_ended_and_delays_no_other(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
        # All of it lives in one loop: when that is held up, the stream that is read is late too.
        sharded(
            tmp_path / "data", [provider.address], PATIENT_FOR_A_SECOND, clock=UnhurriedClock()
        ) as shard,
        operating("shop", shard.address) as shop,
        SessionClient(shard.address).open(hello_of("deaf")) as deaf,
    ):
        sessions = shard.process.state.parts.sessions
        await until(lambda: sessions.is_open("deaf"))
        updates_for(shard, "deaf")
        begun = shard.cycles
        await shop.wants(2, LOW)
        await until(lambda: len(shop.configured()) == 2, lambda: shop.nodes)
        await until(lambda: shard.cycles > begun + 3)
        await until(lambda: not sessions.is_open("deaf"), sessions.views)
        assert shard.counted("outbox_coalesced_total") >= UPDATES - MACHINES
        assert shard.counted("session_lifecycle_total", event="stalled") == 1
        assert shard.counted("outbox_overflows_total") == 0
        assert (await end_of(deaf)).code is Code.RESOURCE_EXHAUSTED
        await shop.wants(1, LOW)
        assert shop.ends == []
        assert shard.counted("cycle_errors_total") == 0
