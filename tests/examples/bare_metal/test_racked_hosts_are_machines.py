"""What the file and the survey say becomes the inventory; what was done is found again."""

import os
from pathlib import Path

import pytest

from bigfleet.provider import (
    BOUND,
    GONE,
    UNKNOWN,
    Condition,
    HostGone,
    Kind,
    MachineState,
    ManualClock,
    OpenContext,
    Permanent,
)
from bigfleet_bare_metal import BareMetal
from bigfleet_bare_metal.backend import BareMetalConfig
from bigfleet_bare_metal.racks import BadInventory
from tests.examples.bare_metal.operations import machine, operation

HOSTS = """
hosts:
  - {name: a1, type: big, rack: r1, address: 10.0.0.1, labels: {team: search}}
  - {name: a2, type: big, zone: hall-b, ref: serial-2, node_name: node-2}
"""
START = """
region: ams
zone: hall-a
types:
  big: {resources: {cpu: "62"}, allocatable: {cpu: 63500m}, price_per_hour: 0.5}
"""


def hooks(**more: str) -> str:
    named = {"configure": "cat >/dev/null", "drain": "true", "ready": "true", **more}
    lines = [f'  {name}: {{command: [sh, -c, "{script}"]}}' for name, script in named.items()]
    return "\n".join(["hooks:", *lines, ""])


async def opened(path: Path) -> BareMetal:
    backend = BareMetal()
    backend.cfg = BareMetalConfig(inventory=str(path))
    await backend.open(OpenContext("metal", ManualClock()))
    return backend


async def racked(folder: Path, **more: str) -> BareMetal:
    path = folder / "inventory.yaml"
    path.write_text(START + hooks(**more) + HOSTS)
    return await opened(path)


async def test_a_listed_host_is_a_machine_with_its_rack_and_shape(tmp_path: Path) -> None:
    first, second = (await (await racked(tmp_path)).describe()).instances
    assert (first.id, first.zone, first.price_per_hour) == ("a1", "hall-a", 0.5)
    assert first.labels == {"topology.bigfleet/rack": "r1", "team": "search"}
    assert second.host is not None
    assert (second.zone, second.host.ref, second.host.node_name) == ("hall-b", "serial-2", "node-2")


async def test_a_host_that_is_down_is_a_slot_where_a_hook_can_create_it(tmp_path: Path) -> None:
    backend = await racked(tmp_path, survey="echo a1 up; echo a2 down", create="true")
    hosts = {i.id: i.host for i in (await backend.describe()).instances}
    assert hosts["a1"] is not None
    assert hosts["a2"] is None


async def test_a_host_that_is_down_is_absent_where_none_can(tmp_path: Path) -> None:
    inventory = await (await racked(tmp_path, survey="echo a1 up; echo a2 down")).describe()
    assert ([i.id for i in inventory.instances], inventory.complete) == (["a1"], True)


async def test_a_host_the_survey_does_not_name_is_not_judged(tmp_path: Path) -> None:
    inventory = await (await racked(tmp_path, survey="echo a1 up")).describe()
    assert ([i.id for i in inventory.instances], inventory.complete) == (["a1"], False)


async def test_a_host_found_at_work_keeps_its_cluster(tmp_path: Path) -> None:
    backend = await racked(tmp_path, survey="echo a1 bound shop; echo a2 up")
    bound = {i.id: i.bound.cluster for i in (await backend.describe()).instances if i.bound}
    assert bound == {"a1": "shop"}


async def test_a_survey_that_fails_is_not_an_empty_inventory(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="no route"):
        await (await racked(tmp_path, survey="echo no route >&2; exit 1")).describe()


async def test_a_host_added_to_the_file_is_seen_without_a_restart(tmp_path: Path) -> None:
    backend = await racked(tmp_path)
    path = tmp_path / "inventory.yaml"
    path.write_text(path.read_text() + "  - {name: a3, type: big}\n")
    os.utime(path, ns=(1, 1))
    assert [i.id for i in (await backend.describe()).instances] == ["a1", "a2", "a3"]


async def test_a_file_broken_by_an_edit_fails_the_describe(tmp_path: Path) -> None:
    backend = await racked(tmp_path)
    (tmp_path / "inventory.yaml").write_text("hosts: [")
    os.utime(tmp_path / "inventory.yaml", ns=(1, 1))
    with pytest.raises(BadInventory):
        await backend.describe()


async def test_without_a_file_it_refuses_to_start() -> None:
    backend = BareMetal()
    backend.cfg = BareMetalConfig()
    with pytest.raises(BadInventory, match="inventory=FILE"):
        await backend.open(OpenContext("metal", ManualClock()))


async def test_configure_hands_over_blob_and_cluster(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = f"echo $BIGFLEET_HOST $BIGFLEET_CLUSTER $BIGFLEET_OPERATION >{out}; cat >>{out}"
    backend = await racked(tmp_path, configure=script)
    await backend.configure(operation(Kind.CONFIGURE, "a1", "shop", b"join me"))
    assert out.read_text() == "10.0.0.1 shop op-configure\njoin me"


async def test_readiness_is_asked_until_the_hook_agrees(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = f"echo x >>{asked}; [ $(wc -l <{asked}) -ge 3 ] || exit 75"
    backend = await racked(tmp_path, ready=script)
    backend._clock = Instantly()
    await backend.confirm_ready(operation(Kind.CONFIGURE, "a1", "shop"))
    assert len(asked.read_text().splitlines()) == 3


class Instantly(ManualClock):
    """A clock on which nothing takes time."""

    async def sleep(self, seconds: float) -> None:
        return None


async def test_a_host_taken_from_the_file_is_gone(tmp_path: Path) -> None:
    backend = await racked(tmp_path)
    with pytest.raises(HostGone):
        await backend.drain(operation(Kind.DRAIN, "a9"))
    assert await backend.inspect(machine("a9")) == GONE


async def test_racked_hosts_are_not_created(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="racked"):
        await (await racked(tmp_path)).create(operation(Kind.CREATE, "a1"))


@pytest.mark.parametrize(
    ("printed", "condition"),
    [("up", Condition.RUNNING), ("down", Condition.GONE), ("bound shop", Condition.BOUND)],
)
async def test_inspect_asks_the_host(tmp_path: Path, printed: str, condition: Condition) -> None:
    backend = await racked(tmp_path, inspect=f"echo {printed}")
    assert (await backend.inspect(machine("a1"))).condition is condition


async def test_without_a_status_command_a_cut_off_configure_is_run_again(tmp_path: Path) -> None:
    backend = await racked(tmp_path)
    assert await backend.inspect(machine("a1", MachineState.CONFIGURING, "shop")) == UNKNOWN


async def test_without_a_status_command_a_failed_machine_is_drained_before_it_is_idle(
    tmp_path: Path,
) -> None:
    backend = await racked(tmp_path)
    assert await backend.inspect(machine("a1", MachineState.FAILED, "shop")) == BOUND
