"""A scenario file is read whole, and every problem is told with its path and the remedy."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.model.errors import BadInput
from bigfleet.model.requirements import ZONE_KEY, Operator, Requirement
from bigfleet.simulation.curves import Steps
from bigfleet.simulation.scenario_file import load_scenario
from tests.simulation.scenarios import SMALL

_ALWAYS_THEN_FINAL = ("always", "final", "final")


def problems_of(text: str) -> str:
    with pytest.raises(BadInput) as refused:
        load_scenario(text.encode())
    return "\n".join(map(str, refused.value.problems))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("durations: 5m", "durations: unknown key; did you mean duration?"),
        ("seed: -1", "seed: -1: write a whole number from 0"),
        ("shards: 11", "shards: 11: write a whole number from 1 to 10"),
        ("shards: 2\nowners: {c: shard-0}", "owners.c: unknown key"),
        ("shards: 2\nowners: {a: shard-2}", 'owners.a: "shard-2": did you mean'),
        ("events: [{at: 1s, do: move-zone, zone: a, shard: shard-0}]", "there is one shard"),
        ("faults: [{do: kill, process: coordinator/coordinator-0}]", "faults[0].process"),
        ("archetypes: []", "archetypes: not simulated in this version; write each workload"),
        ("buffers: []", "buffers: not simulated in this version; write a workload of a low"),
        ("provisioningRequests: []", "provisioningRequests: not simulated in this version"),
        ("story: [{at: 5s, say: '{pods_wait} wait'}]", "'pods_wait' is not a name"),
        ("story: [{at: 5s, say: '{pods wait'}]", "a { or a } is missing"),
        ("events: [{at: 2m, do: say, text: late}]", "after the end, which is at 60 s"),
        ("settle: 10s\nfaults: [{from: 45s, for: 9s, do: outage}]", "where settle begins"),
        ("settle: 2m", 'settle: "2m": write less than duration'),
        ("chaos: {lasting: [9s, 2s]}", "write the shortest and the longest"),
        ("chaos: {to: 2m}", "faults end before the run"),
        ("events: [{at: 1m, do: zone-los, zone: a}]", "did you mean zone-loss?"),
        ("events: [{at: 1m, do: zone-loss, zone: x}]", 'events[0].zone: "x"'),
        ("events: [{at: 1m, do: zone-loss}]", "events[0].zone: missing; write its zone"),
        ("events: [{at: 1m, do: cluster-join}]", "not simulated here"),
        ("events: [{at: 1m, do: price, select: od}]", "price needs value"),
        ("faults: [{from: soon, do: outage}]", "faults[0].from"),
        ("faults: [{do: kill, process: shard/x}]", "did you mean shard/shard-0?"),
        ("faults: [{do: partition, between: [shard/shard-0]}]", "write two processes"),
        ("chaos: {do: [earthquake]}", "chaos.do"),
        ("settings: {rails.reclaim_cap: 1}", "there is no setting 'reclaim_cap'"),
        ("settings: {release.spot: never}", "write a number, or a length of time"),
        ("assertions: [{always: cycle_p99 < 1}]", "cycle_p99 is unknown in a simulation"),
        ("assertions: [{name: x}]", "write exactly one of always, never"),
        ("assertions: [{always: costs < 1}]", "'costs' is not a name"),
        ("assertions: [{within: 1m, of: {event: flood}, expect: idle > 0}]", '"flood"'),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(more: str, said: str) -> None:
    text = SMALL if not more.startswith("durations") else SMALL.replace("duration: 60s\n", "")
    assert said in problems_of(f"{text}{more}\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: Scenario", "kind: Fleet", "kind: "),
        ("cluster: shop", "cluster: shp", "did you mean shop?"),
        ("state: Speculative", "state: Draining", "a scenario begins with Idle and Speculative"),
        ("curve: {step: [[0s, 12], [20s, 20]]}", "curve: {sinus: 1}", "write one of constant"),
        ("[20s, 20]", "[20s, -20]", "in the order of time"),
        ("uniform:2s,6s", "uniform:6s,2s", "provider.latency.create"),
        ("clusters: [{id: shop}]", "clusters: []", "clusters: missing"),
        ("{id: shop}", "{id: shop, zones: [x]}", 'clusters[0].zones[0]: "x"'),
        ("curve: {step: [[0s, 12], [20s, 20]]}", "curve: {trace: no.csv}", "names no files"),
    ],
)
def test_a_file_with_a_slip_is_refused(old: str, new: str, said: str) -> None:
    assert said in problems_of(SMALL.replace(old, new))


def test_all_problems_are_told_at_once_with_their_lines() -> None:
    found = problems_of(SMALL.replace("duration: 60s", "duration: long") + "seed: x\ncycle: y\n")
    assert len(found.splitlines()) == 3
    assert "duration: " in found
    assert "(line 5)" in found


def test_the_scenario_of_the_specification_is_read_whole() -> None:
    scenario = load_scenario((Path(__file__).parent / "specified.yaml").read_bytes())
    assert (len(scenario.supply.machines), len(scenario.workloads)) == (520, 2)
    assert [each.kind for each in scenario.assertions] == ["always", "within", *_ALWAYS_THEN_FINAL]
    assert [each.do for each in scenario.events] == ["zone-loss", "zone-return", "say"]


def test_names_and_numbers_come_from_the_file() -> None:
    scenario = load_scenario((SMALL + "seed: 9\nsettings: {release.spot: 5m}\n").encode())
    assert (scenario.name, scenario.seed, scenario.duration) == ("small", 9, 60.0)
    assert scenario.settings.release.spot == 300.0
    assert len(scenario.supply.machines) == 10


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=12), st.none() | st.integers() | st.text(max_size=8)))
def test_any_mapping_is_refused_with_sentences(keys: dict[str, object]) -> None:
    text = json.dumps({**keys, "fleet": keys, "workloads": [keys], "events": [keys]})
    assert problems_of(text)


def test_what_comes_from_csv_is_a_curve(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("seconds,pods\n0,3\n60,7\n")
    text = SMALL.replace("step: [[0s, 12], [20s, 20]]", "trace: load.csv")
    (plan,) = load_scenario(text.encode(), tmp_path).workloads
    assert plan.curve == Steps(((0.0, 3.0), (60.0, 7.0)))


@pytest.mark.parametrize("lines", ["0,3\n0,4\n", "0,3\nsoon,4\n", "0,3\n9,-4\n", "0,3,9\n"])
def test_a_csv_with_a_slip_is_refused_with_its_line(lines: str, tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text(lines)
    text = SMALL.replace("step: [[0s, 12], [20s, 20]]", "trace: load.csv")
    with pytest.raises(BadInput, match=r"line \d of it: write seconds,units"):
        load_scenario(text.encode(), tmp_path)


def test_workloads_keep_to_the_zones_of_their_cluster() -> None:
    text = SMALL.replace("{id: shop}", "{id: shop, zones: [b]}")
    (plan,) = load_scenario(text.encode()).workloads
    assert Requirement.of(ZONE_KEY, Operator.IN, ["b"]) in plan.workload.profile.requirements


def test_two_workloads_of_one_name_are_refused() -> None:
    again = SMALL.split("workloads:\n")[1]
    assert "another workload has this name" in problems_of(SMALL + again)
