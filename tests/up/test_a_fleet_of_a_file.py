"""`bigfleet up --fleet FILE`: the machines of a fleet file, and its Needs as pods."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.cli.main import cli
from bigfleet.fleetfile import load_fleet
from bigfleet.model.errors import BadInput, StartRefused
from bigfleet.model.machines import MachineState
from bigfleet.model.resources import Resources
from bigfleet.up.file_fleets import FileFleet, file_fleet_of, pods_of
from bigfleet.up.folders import claim
from bigfleet.up.plans import FleetPlan, why_no_tour
from bigfleet.up.scenario import Scenario
from tests.up.fleets import FAST, context, is_served, running, seen

FIRST_LOOK = Path(__file__).parents[2] / "examples" / "fleets" / "first-look.yaml"
ONE = "{id: m, state: Idle, capacityType: BareMetal, instanceType: t, zone: a, resources: {cpu: 8}}"
ASKS = "{cluster: shop, priority: 1, aggregateResources: {cpu: 8}, minUnit: {cpu: 2}}"


def file_fleet(machines: str = ONE, needs: str = ASKS) -> FileFleet:
    body = f"version: 1\nkind: Fleet\nmachines: [{machines}]\nneeds: [{needs}]\n"
    return file_fleet_of(load_fleet(body.encode(), "fleet.yaml"))


def planned(file: FileFleet) -> FleetPlan:
    return replace(FAST, machines=file.machines, file=file)


async def test_the_machines_and_the_demand_are_those_of_the_file() -> None:
    fleet = load_fleet(FIRST_LOOK.read_bytes(), "first-look.yaml")
    async with running(planned(file_fleet_of(fleet))) as local:
        found = local.shards["shard-0"].state.parts.machines
        for entry in fleet.machines:
            machine = found.truth(entry.machine.id)
            assert machine.price_per_hour == entry.machine.price_per_hour
            assert machine.interruption_probability == entry.machine.interruption_probability
            assert entry.machine.labels.items() <= machine.labels.items()
            assert (machine.instance_type, machine.zone, machine.resources) == (
                entry.machine.instance_type,
                entry.machine.zone,
                entry.machine.resources,
            )
        assert len(found) == len(fleet.machines)
        await seen(local, lambda report: any(c.name == "shop" and c.pods for c in report.clusters))
        [asked] = local.clusters.lines["shop"].operator.cluster.needs()
        [wanted] = [row.need for row in fleet.needs]
        assert (asked.key, asked.aggregate, asked.min_unit) == (
            wanted.key,
            wanted.aggregate,
            wanted.min_unit,
        )
        assert local.plan.clusters == ("batch", "shop")


async def test_its_pods_run_on_what_the_shard_chose() -> None:
    async with running(planned(file_fleet())) as local:
        await seen(local, is_served)
        machine = local.shards["shard-0"].state.parts.machines.truth("m")
        assert (machine.state, machine.cluster) == (MachineState.CONFIGURED, "shop")
        scenario = Scenario(local, context().clock, context().log, watch=None)  # type: ignore[arg-type]
        try:
            assert scenario.set_demand("shop", "priority 1", 0.5)["factor"] == 0.5
            assert local.clusters.lines["shop"].operator.cluster.pods == 2
        finally:
            await scenario.close()


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), st.integers(1, 10**6))
#: Of a row that a law fills.
[ROW] = load_fleet(f"version: 1\nkind: Fleet\nneeds: [{ASKS}]\n".encode(), "fleet.yaml").needs


@given(wanted=AMOUNTS.filter(bool), unit=AMOUNTS)
def test_pods_ask_for_exactly_what_their_need_asks_for(
    wanted: dict[str, int], unit: dict[str, int]
) -> None:
    need = replace(ROW.need, aggregate=Resources.of(wanted), min_unit=Resources.of(unit))
    parts = list(pods_of(need))
    assert all(count > 0 for _, count in parts)
    total, largest = Resources(), Resources()
    for request, count in parts:
        total = total.plus(request.times(count))
        largest = largest.most(request)
    assert total.positive() == Resources.of(wanted)
    for name in unit.keys() & wanted.keys():
        assert largest[name] == min(unit[name], wanted[name])


@pytest.mark.parametrize(
    ("machines", "needs", "said"),
    [
        (ONE.replace("BareMetal", "Unspecified"), ASKS, "name one of them"),
        (
            f"{ONE}, {ONE.replace('id: m', 'id: n').replace('cpu: 8', 'cpu: 9')}",
            ASKS,
            "n and m are of one instance type, zone and capacity type",
        ),
        (ONE, "", "needs: there are none"),
        ("", ASKS, "machines: there are none"),
        (ONE, ASKS.replace("cpu: 8", "cpu: 9000000"), "4,500,000 pods, and at most 500,000"),
    ],
    ids=["no capacity type", "two sizes", "no Needs", "no machines", "too many pods"],
)
def test_what_cannot_be_simulated_is_told_with_its_place(
    machines: str, needs: str, said: str
) -> None:
    with pytest.raises(BadInput) as refused:
        file_fleet(machines, needs)
    assert said in str(refused.value)


def test_margins_of_a_dump_are_left_to_the_operators() -> None:
    both = f"{ASKS}, {ASKS.replace('minUnit', 'group: margin, minUnit')}"
    assert [each.replicas for each in file_fleet(needs=both).workloads] == [4]


def test_a_data_dir_goes_on_with_the_same_file_only(tmp_path: Path) -> None:
    first, other = (
        planned(file_fleet()),
        planned(file_fleet(needs=ASKS.replace("cpu: 8", "cpu: 4"))),
    )
    claim(tmp_path, first)
    claim(tmp_path, first)
    for stranger in (other, replace(FAST, machines=first.machines)):
        with pytest.raises(StartRefused, match="start it with the same --fleet"):
            claim(tmp_path, stranger)


def test_there_is_no_tour_of_a_file() -> None:
    assert "leave --fleet out" in why_no_tour(planned(file_fleet()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--size", "small"], "--size is that of the demo fleet"),
        (["--provider-addr", "127.0.0.1:1"], "leave --provider-addr out"),
        (["--tour"], "leave --fleet out"),
        (["--shards", "3"], "a shard has a zone, and there are a, b"),
    ],
    ids=["a size", "a provider", "a tour", "more shards than zones"],
)
def test_what_does_not_go_with_a_file_is_a_usage_error(words: list[str], said: str) -> None:
    answer = CliRunner().invoke(cli, ["up", "--fleet", str(FIRST_LOOK), *words])
    assert answer.exit_code == 2
    assert said in " ".join(answer.stderr.split())


def test_a_file_that_cannot_be_read_ends_the_command(tmp_path: Path) -> None:
    answer = CliRunner().invoke(cli, ["up", "--fleet", str(tmp_path / "absent.yaml")])
    assert answer.exit_code == 2
    assert "cannot read the fleet file" in answer.stderr
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: 1\nkind: Fleet\nmachines: [{id: m, colour: red}]\n")
    answer = CliRunner().invoke(cli, ["up", "--fleet", str(bad)])
    assert answer.exit_code == 2
    assert "colour" in answer.stderr
