"""ProviderAdmin over the same port: what is known, and the few things one may ask for."""

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, Token
from bigfleet.provider import Kind, Permanent
from bigfleet.wire.provider_admin import ProviderAdminClient, Verb
from tests.provider.rig import rejection, running

WHY = {"owner": "me", "reason": "test"}


async def test_machines_operations_fences_and_failures_are_shown() -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("bad"))
        await rig.create("m-0", Token("a", 3, 4))
        await rig.to_idle("m-1")
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            machines = (await admin.do(Verb.MACHINES, {"state": "idle"})).answer["items"]
            assert [m["id"] for m in machines] == ["m-1"]  # type: ignore[attr-defined]
            failed = (await admin.do(Verb.FAILED)).answer["items"]
            assert [m["lastError"] for m in failed] == ["error: bad"]  # type: ignore[attr-defined]
            ops = (await admin.do(Verb.OPS, {"machine_id": "m-0"})).answer["items"]
            assert [o["outcome"] for o in ops] == ["failed"]  # type: ignore[attr-defined]
            fences = (await admin.do(Verb.FENCES)).answer["items"]
            assert fences == [{"shard": "a", "machine": "m-0", "epoch": 3, "sequence": 4}]


async def test_a_note_is_seen_while_the_work_runs() -> None:
    async with running() as rig:
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        await rig.get("m-0")
        rig.substrate.seen[0].note("the vm is booting")
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            ops = (await admin.do(Verb.OPS, {"running": True})).answer["items"]
            assert [o["note"] for o in ops] == ["the vm is booting"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("verb", "state"),
    [(Verb.REPAIR, MachineState.SPECULATIVE), (Verb.FORGET, MachineState.SPECULATIVE)],
)
async def test_an_operator_leads_a_machine_out_of_failed(verb: Verb, state: MachineState) -> None:
    async with running() as rig:
        rig.substrate.fail_next(Kind.CREATE, Permanent("bad"))
        await rig.create("m-0")
        await rig.get("m-0")
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            await admin.do(verb, {"machine_id": "m-0", **WHY})
            assert await rig.state("m-0") is state
            again = await rejection(admin.do(verb, {"machine_id": "m-0", **WHY}))
            assert again.code is Code.ABORTED


async def test_a_pruned_shard_may_begin_again() -> None:
    async with running() as rig:
        await rig.create("m-0", Token("a", 9, 9))
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            pruned = await admin.do(Verb.PRUNE_FENCES, {"shard_id": "a", **WHY})
            assert pruned.answer == {"pruned": 1}
        await rig.create("m-0", Token("a", 1, 1))


async def test_a_doubted_describe_can_be_accepted() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.hosts.clear()
        rig.substrate.instances.clear()
        for _ in range(4):
            await rig.clock.advance(121)
        assert await rig.state("m-0") is MachineState.IDLE
        async with ProviderAdminClient(f"127.0.0.1:{rig.server.port}") as admin:
            assert (await admin.do(Verb.ACCEPT_DESCRIBE, WHY)).answer == {"quarantined": True}
        assert await rig.state("m-0") is MachineState.FAILED
