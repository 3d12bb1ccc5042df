"""The building blocks together: a whole cloud provider without one line about the contract."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    MachineRecord,
)
from bigfleet.provider import MemoryStore, ProviderServer, Ssh
from bigfleet.provider.blocks import kube_nodes
from bigfleet.provider.blocks.hooks import Ended
from bigfleet.provider.config import config_of, settings_of
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.blocks.acme import Acme, AcmeConfig
from tests.provider.rig import OPTIONS

OFFERS = [
    {
        "instance_type": "a-8",
        "zone": "eu-1a",
        "capacity_type": "on_demand",
        "count": 3,
        "resources": {"cpu": "8", "memory": "32Gi"},
    }
]
PRICES = [{"instance_type": "a-8", "price": 0.4}]
M = "acme--on-demand--a-8--eu-1a--00"


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What was run on hosts; their nodes are Ready in `shop` as soon as it was."""
    run: list[tuple[str, ...]] = []

    async def on_host(ssh: Ssh, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        run.append((ssh.address, words[0], blob.decode()))
        return Ended(0)

    def looker(_kubeconfig: Path) -> kube_nodes.Look:
        ready = kube_nodes._Status([kube_nodes._Condition("Ready", "True")])
        return lambda: [
            kube_nodes.Node(spec=kube_nodes._Spec(f"acme:///{host}"), status=ready)
            for host, verb, _ in run
            if verb == "configure"
        ]

    monkeypatch.setattr(Ssh, "run", on_host)
    monkeypatch.setattr(kube_nodes, "looker_of", looker)
    monkeypatch.setenv("BIGFLEET_KUBECONFIGS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text("")
    (tmp_path / "acme.json").write_text(json.dumps(PRICES))
    (tmp_path / "offers.json").write_text(json.dumps(OFFERS))
    return run


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[ProviderClient]:
    backend = Acme()
    backend.cfg = config_of(AcmeConfig, settings_of(["token=t"]))
    server = ProviderServer(
        backend,
        MemoryStore("mem"),
        replace(OPTIONS, provider="acme"),
        offerings=folder / "offers.json",
    )
    port = await server.start()
    try:
        async with ProviderClient(f"127.0.0.1:{port}") as client:
            yield client
    finally:
        await server.stop(0.0)


async def settled(client: ProviderClient, machine_id: str, state: S) -> MachineRecord:
    async with asyncio.timeout(60):
        while (record := await client.get(machine_id)).state is not state:
            assert record.state is not S.FAILED, record.last_error
    return record


async def test_a_machine_goes_all_the_way_and_back(
    tmp_path: Path, hooks: list[tuple[str, ...]]
) -> None:
    async with running(tmp_path) as client:
        slot = await client.get(f"{M}0")
        assert (slot.state, slot.price_per_hour) == (S.SPECULATIVE, 0.4)
        await client.create(CreateCall(f"{M}0"))
        idle = await settled(client, f"{M}0", S.IDLE)
        assert idle.host is not None
        assert idle.labels["kubernetes.io/hostname"] == f"{idle.host.ref}.eu-1"
        await client.configure(ConfigureCall(f"{M}0", "shop", b"join"))
        assert (await settled(client, f"{M}0", S.CONFIGURED)).cluster == "shop"
        await client.drain(DrainCall(f"{M}0", 30))
        await settled(client, f"{M}0", S.IDLE)
        await client.delete(DeleteCall(f"{M}0"))
        await settled(client, f"{M}0", S.SPECULATIVE)
    host = idle.host.ref
    assert hooks == [(host, "configure", "join"), (host, "drain", "")]


async def test_what_is_sold_out_is_not_asked_for_again(
    tmp_path: Path, hooks: list[tuple[str, ...]]
) -> None:
    async with running(tmp_path) as client:
        for number in range(2):
            await client.create(CreateCall(f"{M}{number}"))
            await settled(client, f"{M}{number}", S.IDLE)
        await client.create(CreateCall(f"{M}2"))
        async with asyncio.timeout(60):
            while (record := await client.get(f"{M}2")).state is not S.FAILED:
                assert record.state is S.CREATING
        assert record.last_error == "stockout: no a-8 left in eu-1a for base"
    assert hooks == []


async def test_a_missing_folder_of_kubeconfigs_refuses_the_start(
    tmp_path: Path, hooks: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BIGFLEET_KUBECONFIGS")
    with pytest.raises(BadInput, match="BIGFLEET_KUBECONFIGS"):
        async with running(tmp_path):
            pass
    assert hooks == []
