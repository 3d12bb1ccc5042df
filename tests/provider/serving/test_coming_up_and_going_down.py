"""Start-up errors, readiness, the HTTP pages, and an orderly end."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.provider import Backend, Config, Kind, MemoryStore, ProviderServer, Retryable, Secret
from bigfleet.provider.backend import Created, Host, Inventory, Operation
from bigfleet.provider.config import config_of, settings_of
from bigfleet.provider.testing import FakeSubstrate, slots
from tests.provider.rig import OPTIONS, rejection, running


async def page(port: int, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return int(head.split(" ")[1]), body


async def test_the_pages_answer() -> None:
    options = replace(OPTIONS, metrics_address="127.0.0.1:0", debug_endpoints=True)
    async with running(options=options) as rig:
        await rig.to_idle("m-0")
        port = rig.server.metrics_port
        assert await page(port, "/healthz") == (200, "alive\n")
        assert await page(port, "/readyz") == (200, "ready\n")
        status, text = await page(port, "/metrics")
        assert status == 200
        assert 'bigfleet_provider_rpc_total{code="OK",method="Create"} 1.0' in text
        assert 'machines{capacity_type="OnDemand",state="Idle"} 1.0' in text
        assert "bigfleet_provider_revision 6.0" in text
        assert '"id":"m-0"' in (await page(port, "/debug/machines"))[1]
        assert (await page(port, "/other"))[0] == 404


async def test_the_revision_is_told_before_anything_changes() -> None:
    store = MemoryStore("mem")
    options = replace(OPTIONS, metrics_address="127.0.0.1:0")
    async with running(store=store, options=options):
        pass
    async with running(store=store, options=options) as rig:
        _, text = await page(rig.server.metrics_port, "/metrics")
        assert "bigfleet_provider_revision 4.0" in text


async def test_every_metric_of_the_contract_is_there() -> None:
    names = """rpc_total rpc_seconds operations_total operation_seconds operation_queue machines
        fenced_total shard_switch_total describe_total describe_quarantined vanished_total
        interruptions_total healed_total substrate_calls_total throttled_seconds_total
        store_commit_seconds store_failures_total revision configure_payload_mismatch_total
        price_age_seconds"""
    async with running(options=replace(OPTIONS, metrics_address="127.0.0.1:0")) as rig:
        _, text = await page(rig.server.metrics_port, "/metrics")
        missing = [n for n in names.split() if f"# TYPE bigfleet_provider_{n} " not in text]
        assert missing == []


async def test_three_failed_describes_take_readiness_away() -> None:
    options = replace(OPTIONS, metrics_address="127.0.0.1:0")
    async with running(options=options) as rig:
        rig.substrate.describe_error = Retryable("api down")
        for expected in (200, 200, 503):
            await rig.clock.advance(121)
            assert (await page(rig.server.metrics_port, "/readyz"))[0] == expected
        rig.substrate.describe_error = None
        await rig.clock.advance(121)
        assert (await page(rig.server.metrics_port, "/readyz"))[0] == 200


async def test_the_end_waits_for_work_and_leaves_the_rest_to_the_journal() -> None:
    store = MemoryStore()
    async with running(store=store) as rig:
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-0")
        await rig.get("m-0")
        rig.substrate.release(Kind.CREATE)
        rig.substrate.hold(Kind.CREATE)
        await rig.create("m-1")
        ending = asyncio.create_task(rig.server.stop())
        refused = await rejection(rig.create("m-2"))
        assert refused.code is Code.UNAVAILABLE
        assert await rig.client.health() == "NOT_SERVING"
        assert await rig.state("m-0") is MachineState.IDLE
        assert not ending.done()
        await rig.clock.advance(21)
        await ending
    assert [row.machine_id for row in store.load().pending] == ["m-1"]


async def test_a_broken_record_in_the_first_describe_refuses_the_start() -> None:
    broken = slots(1, capacity_type=CapacityType.SPOT, interruption_probability=0.0)
    with pytest.raises(BadInput, match="m-0"):
        async with running(broken):
            pass


async def test_a_backend_without_readiness_refuses_the_start() -> None:
    class Forgetful(FakeSubstrate):
        confirm_ready = None  # type: ignore[assignment]

    with pytest.raises(BadInput, match="confirm_ready"):
        async with running(substrate=Forgetful(slots(1))):
            pass


async def test_plain_methods_run_in_threads() -> None:
    class Plain(Backend):
        configure_implies_ready = True

        def describe(self) -> Inventory:
            return Inventory(slots(1))

        def create(self, op: Operation) -> Created:
            return Created(Host("h-1"))

        def configure(self, op: Operation) -> None:
            assert not op.cancelled.is_set()

        def drain(self, op: Operation) -> None:
            """Nothing to stop."""

    server = ProviderServer(Plain(), options=replace(OPTIONS))
    await server.start()
    answers = server.parts.answers
    from bigfleet.model.provider_calls import CreateCall, DeleteCall, Peer

    await answers.create(CreateCall("m-0"), Peer())
    while server.parts.operations:
        await asyncio.wait([r.task for r in server.parts.operations._running.values() if r.task])
    entry = server.parts.committer.published.entry("m-0")
    assert entry is not None
    assert entry.state is MachineState.IDLE
    refused = await rejection(answers.delete(DeleteCall("m-0"), Peer()))
    assert refused.code is Code.UNIMPLEMENTED
    await server.stop(0.0)


class Settings(Config):
    token: Secret
    size: int = 3


def test_settings_are_typed_and_secrets_hide() -> None:
    settings = config_of(Settings, settings_of(["token=abc", "size=5"]))
    assert (settings.token, settings.size) == ("abc", 5)
    assert "abc" not in repr(settings)


@pytest.mark.parametrize("pairs", [["size=5"], ["token=a", "size=x"], ["token=a", "more=1"], ["x"]])
def test_wrong_settings_are_refused(pairs: list[str]) -> None:
    with pytest.raises(BadInput):
        config_of(Settings, settings_of(pairs))


def test_a_setting_may_come_from_a_file(tmp_path: Any) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    assert settings_of([f"token=@{tmp_path}/token"]) == {"token": "s3cret"}
