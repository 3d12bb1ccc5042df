"""R11 with real gRPC: a roll-up in the name of another cluster is counted and not acknowledged."""

import asyncio
from functools import partial
from pathlib import Path

from bigfleet.model.session_frames import Acknowledgement
from bigfleet.wire.session_client import SessionClient
from tests.shard_system.demand import HIGH, LOW, rollup, whole_nodes
from tests.shard_system.operators import hello_of, operating
from tests.shard_system.rig import offered, provided, sharded
from tests.shard_system.waiting import PATIENCE, until


async def test_r11_a_cluster_cannot_report_for_another(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 3)]) as provider,
        sharded(tmp_path / "data", [provider.address]) as shard,
        operating("bank", shard.address) as bank,
        SessionClient(shard.address).open(hello_of("shop")) as shop,
        asyncio.timeout(PATIENCE),
    ):
        await bank.wants(2, LOW)
        await until(lambda: len(bank.configured()) == 2, lambda: bank.nodes)
        needs = shard.process.state.parts.needs
        refused = partial(
            shard.counted, "rollups_rejected_total", cluster="shop", reason="cluster_mismatch"
        )
        before = sorted(map(repr, needs.snapshot().needs))
        await shop.send(rollup("bank", 1, whole_nodes("bank", 3, HIGH)))
        await until(lambda: refused() == 1)
        await shop.send(rollup("shop", 2))
        answers = [await shop.read(), await shop.read()]
        assert [a.echo for a in answers if isinstance(a, Acknowledgement)] == ["hello", "rollup"]
        assert refused() == 1
        assert sorted(map(repr, needs.snapshot().needs)) == before
