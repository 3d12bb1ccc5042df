"""Bursts: what a shard asks for at once is answered whole, on the session it was asked on."""

from collections.abc import Sequence
from pathlib import Path

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import (
    BootstrapRequest,
    BootstrapResponse,
    NodeStateUpdate,
    OperatorFrame,
    ReclaimInstruction,
)
from tests.kube_api import FakeApiServer
from tests.operator_system.rig import CLUSTER, JumpingClock, operating

MANY = range(60)


async def test_drains_that_end_together_do_not_cost_the_session(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with FakeApiServer(clock) as server, operating(tmp_path, server, clock, outbox=8) as rig:
        states = [
            NodeStateUpdate(f"m-{n}", CLUSTER, MachineState.CONFIGURED, f"n-{n}") for n in MANY
        ]
        rig.shard.say(*states)
        # Unannounced Nodes: all of them are given up at one and the same deadline.
        rig.shard.say(*(ReclaimInstruction(f"bf1-{n}", (f"odd-{n}",), 30) for n in MANY))
        await rig.until(lambda: len(rig.shard.acks) == 2 * len(MANY))
        assert {ack.instruction_id for ack in rig.shard.acks} == {f"bf1-{n}" for n in MANY}
        assert rig.operator.counts.of("session_reconnects_total") == 0


async def test_machines_that_wait_for_one_token_get_their_blobs_together(tmp_path: Path) -> None:
    (tmp_path / "join.tmpl").write_text("join {{ .Token }}")
    clock = JumpingClock()
    async with (
        FakeApiServer(clock) as server,
        operating(
            tmp_path,
            server,
            clock,
            outbox=8,
            mint_token=True,
            bootstrap_template_file=str(tmp_path / "join.tmpl"),
        ) as rig,
    ):
        minting = server.hold("create", "secrets")
        rig.shard.say(*(BootstrapRequest(f"r-{n}", CLUSTER, ()) for n in MANY))
        await minting.reached()
        await rig.passes(2)
        minting.release()
        await rig.until(lambda: len(_answers(rig.shard.heard)) == len(MANY))
        assert rig.operator.counts.of("session_reconnects_total") == 0


def _answers(heard: Sequence[tuple[int, OperatorFrame]]) -> set[str]:
    return {frame.request_id for _, frame in heard if isinstance(frame, BootstrapResponse)}
