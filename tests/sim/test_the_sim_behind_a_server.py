"""The sim as an ordinary provider over gRPC, driven by its control API in stepped time."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.provider_calls import Code, CreateCall, ListCall, Rejected
from bigfleet.provider import ProviderServer
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.sim import SimBackend, SimConfig
from tests.sim.rig import OPTIONS, Rig, running

OD = "sim--on-demand--std-2--sim-1a--000"
SP = "sim--spot--std-2--sim-1a--000"
BM = "sim--bare-metal--gpu-h100-8--sim-1a--000"
S = MachineState


async def to_idle(rig: Rig, machine: str) -> None:
    await rig.create(machine)
    await rig.do("step-until", "quiet")
    assert await rig.state(machine) is S.IDLE


async def to_configured(rig: Rig, machine: str) -> None:
    await to_idle(rig, machine)
    await rig.configure(machine)
    await rig.wait(120)
    assert await rig.state(machine) is S.CONFIGURED


async def test_a_machine_goes_round_in_sim_time() -> None:
    async with running() as rig:
        await rig.create(OD)
        assert await rig.state(OD) is S.CREATING
        await rig.wait(300)
        created = await rig.get(OD)
        assert created.state is S.IDLE
        assert created.host is not None
        assert created.labels["kubernetes.io/hostname"] == created.host.ref
        await rig.configure(OD)
        await rig.wait(120)
        assert await rig.state(OD) is S.CONFIGURED
        await rig.drain(OD)
        await rig.wait(30)
        assert await rig.state(OD) is S.IDLE
        await rig.delete(OD)
        await rig.wait(120)
        assert await rig.state(OD) is S.SPECULATIVE


async def test_time_stands_still_between_control_calls() -> None:
    async with running() as rig:
        await rig.create(OD)
        for _ in range(20):
            assert await rig.state(OD) is S.CREATING
        assert (await rig.do("clock", "now"))["now"] == "2026-01-01T00:00:00Z"


async def test_even_without_latency_the_acknowledgement_is_transitional() -> None:
    async with running(SimConfig(latency="create=0")) as rig:
        ack = await rig.client.create(CreateCall(OD))
        assert ack.machine.state is S.CREATING
        await rig.wait(0)
        assert await rig.state(OD) is S.IDLE


async def test_a_spot_notice_a_loss_and_the_way_back() -> None:
    async with running() as rig:
        await to_idle(rig, SP)
        await rig.do("interrupt", SP)
        assert (await rig.get(SP)).interruption_probability == 1.0
        await rig.wait(121)
        lost = await rig.get(SP)
        assert (lost.state, lost.last_error.partition(":")[0]) == (S.FAILED, "spot")
        await rig.wait(301)
        back = await rig.get(SP)
        assert (back.state, back.host, back.last_error) == (S.SPECULATIVE, None, "")


async def test_work_on_a_host_that_is_taken_back_fails_as_spot_too() -> None:
    async with running() as rig:
        await to_idle(rig, SP)
        await rig.do("hold", "configure")
        await rig.configure(SP)
        await rig.do("interrupt", SP, "1", "10s")
        await rig.wait(11)
        lost = await rig.get(SP)
        assert (lost.state, lost.last_error.partition(":")[0]) == (S.FAILED, "spot")


async def test_a_new_price_shows_in_the_list_although_no_state_changed() -> None:
    async with running() as rig:
        _, revision = await rig.client.list(ListCall())
        await rig.do("price", "capacity=spot", "0.05")
        changed, _ = await rig.client.list(ListCall(since_revision=revision))
        assert {record.capacity_type for record in changed} == {CapacityType.SPOT}
        assert {record.price_per_hour for record in changed} == {0.05}
        assert {record.state for record in changed} == {S.SPECULATIVE}


async def test_a_vanished_host_is_found_out_by_describing() -> None:
    async with running() as rig:
        await to_configured(rig, OD)
        await rig.do("vanish", OD)
        assert await rig.state(OD) is S.CONFIGURED
        await rig.wait(150)
        assert (await rig.get(OD)).last_error.startswith("vanished:")


async def test_an_empty_describe_loses_no_instance() -> None:
    async with running() as rig:
        await rig.do("describe-empty", "4")
        await rig.wait(110)
        assert [record.state for record in await rig.machines()].count(S.IDLE) == 8


async def test_an_owned_machine_fails_and_is_mended() -> None:
    async with running() as rig:
        await rig.do("fail", BM, "a", "fan", "stopped")
        failed = await rig.get(BM)
        assert failed.state is S.FAILED
        await rig.wait(301)
        assert await rig.state(BM) is S.IDLE


async def test_an_owned_machine_is_never_given_back() -> None:
    async with running() as rig:
        with pytest.raises(Rejected) as refused:
            await rig.delete(BM)
        assert refused.value.code is Code.ABORTED
        assert await rig.state(BM) is S.IDLE


async def test_a_sim_of_owned_machines_only_has_no_delete(tmp_path: Path) -> None:
    file = tmp_path / "offers.json"
    entry = {"instance_type": "std-8", "zone": "z", "capacity_type": "bare_metal", "count": 2}
    file.write_text(json.dumps([entry]))
    async with running(offerings=file) as rig:
        machine = (await rig.machines())[0].id
        with pytest.raises(Rejected) as refused:
            await rig.delete(machine)
        assert refused.value.code is Code.UNIMPLEMENTED


async def test_a_stock_out_fails_and_the_offering_rests() -> None:
    async with running() as rig:
        await rig.do("stock", "capacity=on_demand", "0")
        await rig.create(OD)
        await rig.wait(1)
        assert (await rig.get(OD)).last_error.startswith("stockout:")
        with pytest.raises(Rejected) as refused:
            await rig.create(OD.replace("000", "001"))
        assert refused.value.code is Code.RESOURCE_EXHAUSTED


async def test_a_full_region_refuses_before_acceptance() -> None:
    async with running() as rig:
        await rig.do("quota", "sim-1", "8")
        with pytest.raises(Rejected) as refused:
            await rig.create(OD)
        assert (refused.value.code, refused.value.reason) == (Code.RESOURCE_EXHAUSTED, "quota")
        assert await rig.state(OD) is S.SPECULATIVE


async def test_held_work_is_transitional_until_released() -> None:
    async with running() as rig:
        await rig.do("hold", "create")
        await rig.create(OD)
        await rig.wait(200)
        assert await rig.state(OD) is S.CREATING
        await rig.do("release")
        await rig.wait(0)
        assert await rig.state(OD) is S.IDLE


async def test_held_work_that_is_never_released_ends_at_its_deadline() -> None:
    async with running() as rig:
        await rig.do("hold", "create")
        await rig.create(OD)
        await rig.wait(301)
        assert (await rig.get(OD)).last_error.startswith("timeout:")
        assert not rig.backend.driver.substrate.work


async def test_an_outage_answers_unavailable_and_ends() -> None:
    async with running() as rig:
        await rig.do("outage", "on", "List")
        with pytest.raises(Rejected) as refused:
            await rig.machines()
        assert refused.value.code is Code.UNAVAILABLE
        assert await rig.state(OD) is S.SPECULATIVE
        await rig.do("outage", "off")
        assert len(await rig.machines()) == 136


async def test_commits_that_fail_are_refused_and_leave_no_trace() -> None:
    async with running() as rig:
        await rig.do("store-fail", "on")
        with pytest.raises(Rejected) as refused:
            await rig.create(OD)
        assert refused.value.code is Code.UNAVAILABLE
        await rig.do("store-fail", "off")
        await to_idle(rig, OD)


async def test_slots_come_and_go_by_control() -> None:
    async with running() as rig:
        entry = {"instance_type": "std-4", "zone": "z", "capacity_type": "spot", "count": 3}
        await rig.do("add", json.dumps(entry))
        await rig.wait(1)
        assert len(await rig.machines()) == 139
        await rig.do("remove", "type=std-4")
        await rig.wait(150)
        assert len(await rig.machines()) == 136


async def test_a_script_runs_by_the_clock_of_the_sim(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("- {at: 10s, do: price, select: capacity=spot, value: 0.07}\n")
    async with running(SimConfig(script=script)) as rig:
        assert (await rig.get(SP)).price_per_hour == 0.0285
        await rig.wait(11)
        assert (await rig.get(SP)).price_per_hour == 0.07


def options_of(config: SimConfig, options: ProviderOptions) -> ProviderOptions:
    return ProviderServer(SimBackend(config), options=options).options


def test_a_sim_carries_a_thousand_operations_at_once() -> None:
    assert min(options_of(SimConfig(), OPTIONS).places.values()) >= 1000


def test_only_the_conformance_fleet_is_looked_at_every_few_seconds() -> None:
    plain = options_of(SimConfig(), ProviderOptions())
    tested = options_of(SimConfig(preset="conformance"), ProviderOptions())
    assert plain.timing == ProviderOptions().timing
    assert tested.timing.reconcile * tested.miss_threshold + tested.miss_seconds < 15


async def test_a_thousand_machines_in_transition_end_when_their_time_is_up() -> None:
    async with running(SimConfig(preset="scale:1600", latency="create=fixed:30s")) as rig:
        slots = [m.id for m in await rig.machines() if m.state is S.SPECULATIVE][:1000]
        await asyncio.gather(*(rig.create(machine) for machine in slots))
        await rig.wait(29)
        assert {(await rig.get(machine)).state for machine in slots[::100]} == {S.CREATING}
        await rig.wait(1.1)
        assert [m.state for m in await rig.machines()].count(S.CREATING) == 0


async def test_what_is_not_understood_is_an_invalid_argument() -> None:
    async with running() as rig:
        for verb, words in (("explode", ()), ("price", ("x", "1")), ("advance", ("soon",))):
            with pytest.raises(Rejected) as refused:
                await rig.control.do(verb, words)
            assert refused.value.code is Code.INVALID_ARGUMENT


async def test_no_control_leaves_only_the_six_calls() -> None:
    async with running(SimConfig(control=False)) as rig:
        with pytest.raises(Rejected) as refused:
            await rig.control.do("state")
        assert refused.value.code is Code.UNIMPLEMENTED
        assert len(await rig.machines()) == 136


async def test_the_same_verbs_answer_over_http() -> None:
    async with running() as rig:
        port = rig.server.metrics_port
        stock = b'{"select": "capacity=spot", "value": 0}'
        assert await http(port, "POST", "/sim/v1/stock", stock) == (200, {"pools": 1, "stock": "0"})
        status, answer = await http(port, "GET", f"/sim/v1/state?what={OD}")
        assert (status, answer["machines"][0]["state"]) == (200, "speculative")
        status, answer = await http(port, "POST", "/sim/v1/explode", b"{}")
        assert (status, "not a verb" in answer["error"]) == (400, True)


async def http(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"{method} {path} HTTP/1.1\r\nHost: sim\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    header, _, content = answer.partition(b"\r\n\r\n")
    return int(header.split()[1]), json.loads(content)
