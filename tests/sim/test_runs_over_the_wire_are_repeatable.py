"""Two servers with equal seed, stepped clock and script write equal event logs."""

from pathlib import Path

from bigfleet.provider import MemoryStore
from bigfleet.provider.sim import SimConfig
from tests.sim.rig import running

SCRIPT = """
- {at: 30s, do: price, select: capacity=spot, value: x1.5}
- {at: 2m, do: interrupt, select: capacity=spot, fraction: 0.5, notice: 60s}
- {at: 3m, do: stock, select: "capacity=on_demand", value: 2}
- {at: 5m, do: failure-rate, kind: create, value: 0.5}
- {at: 6m, do: list-empty, n: 3}
- {at: 20m, do: vanish, ids: [sim--bare-metal--gpu-h100-8--sim-1a--001]}
"""


async def one_hour(folder: Path, seed: int, store: str = "mem") -> bytes:
    folder.mkdir()
    script, events = folder / "script.yaml", folder / "events.jsonl"
    script.write_text(SCRIPT)
    config = SimConfig(seed=seed, script=script, events=events, couple=True)
    async with running(config, MemoryStore(store)) as rig:
        machines = sorted(record.id for record in await rig.machines())
        on_demand = [machine for machine in machines if "--on-demand--" in machine]
        spot = [machine for machine in machines if "--spot--" in machine]
        for machine in on_demand[:8]:
            await rig.create(machine)
        await rig.wait(400)
        for machine in machines[:4]:
            await rig.configure(machine)
        for machine in spot[:8]:
            await rig.create(machine)
        await rig.wait(3200)
    return events.read_bytes()


async def test_equal_seed_clock_and_script_give_equal_logs_byte_for_byte(tmp_path: Path) -> None:
    first, second = await one_hour(tmp_path / "a", 7), await one_hour(tmp_path / "b", 7)
    assert first == second
    assert first.count(b"\n") > 50


async def test_a_fresh_store_changes_nothing_in_the_log(tmp_path: Path) -> None:
    first = await one_hour(tmp_path / "a", 7, store="one")
    assert first == await one_hour(tmp_path / "b", 7, store="another")
    assert b'"op-1"' in first


async def test_another_seed_gives_another_log(tmp_path: Path) -> None:
    assert await one_hour(tmp_path / "a", 7) != await one_hour(tmp_path / "b", 8)
