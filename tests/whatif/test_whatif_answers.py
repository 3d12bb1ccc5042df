"""`bigfleet whatif`: what a person reads, and what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli

FLEET = """
version: 1
kind: Fleet
provenance: {shard: shard-0, cycle: "3:18231"}
machines:
  - {id: "bm-{00}", count: 6, state: Idle, capacityType: BareMetal, instanceType: metal.8,
     zones: [a, b, c], resources: {cpu: 8, memory: 32Gi}}
  - {id: "sh-{00}", count: 6, state: Configured, cluster: shop, capacityType: OnDemand,
     instanceType: std-8, zones: [a, b, c], pricePerHour: 0.5, resources: {cpu: 8, memory: 32Gi},
     assigned: {priority: 1000, interruptionPenalty: 4, reclamationPenalty: 1, cluster: shop}}
  - {id: "ba-{00}", count: 3, state: Configured, cluster: batch, capacityType: Spot,
     instanceType: spot-8, zones: [a, b, c], pricePerHour: 0.25,
     resources: {cpu: 8, memory: 32Gi},
     assigned: {priority: 100, interruptionPenalty: 2, reclamationPenalty: 0.5, cluster: batch}}
needs:
  - {cluster: shop, priority: 1000, aggregateResources: {cpu: 72}, minUnit: {cpu: 8}}
  - {cluster: batch, priority: 100, aggregateResources: {cpu: 24}, minUnit: {cpu: 8}}
options: {now: "2026-01-01T00:00:00Z", clustersReady: all}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    file.write_text(FLEET)
    return str(file)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["whatif", *arguments])


def test_the_loss_of_a_zone_is_told_in_sentences_first(fleet: str) -> None:
    answer = run("--fleet", fleet, "--zone-loss", "b")
    assert answer.exit_code == 0, answer.output
    head = answer.output.splitlines()[:5]
    assert head == [
        "What if: zone-loss b   (cycle 3:18231)",
        "5 machines leave, 3 of them in use (shop 2, batch 1).",
        "2 more Needs would be short, up to priority 1000.",
        "Machines change hands by preemption: 1 from batch to shop.",
        "The bill goes from $3.75/h to $2.50/h (-$1.25/h).",
    ]
    assert "preempted for it now" in answer.output


def test_programs_get_both_sides_and_the_overlay_in_canonical_form(fleet: str) -> None:
    answer = run(
        "--fleet", fleet, "--zone-loss", "zone=b", "--demand", "cluster=shop x1.50", "-ojson"
    )
    document = json.loads(answer.output)
    assert document["overlay"] == ["zone-loss b", "demand cluster=shop x1.5"]
    assert document["cycle"] == "3:18231"
    assert document["removedMachines"] == 5
    assert document["base"]["actionsByKind"] == {"Bootstrap": 3}
    assert document["changed"]["declaredPenalties"] == 5.0
    assert document["moved"] == [{"fromCluster": "batch", "toCluster": "shop", "machines": 2}]
    lost = {c["cluster"]: c["lostMachines"] for c in document["clusters"]}
    assert lost == {"shop": 2, "batch": 1}


def test_edits_apply_in_the_order_they_are_written(fleet: str) -> None:
    slot = (
        "{id: extra, state: Speculative, capacityType: OnDemand, zone: b,"
        " resources: {cpu: 8, memory: 32Gi}}"
    )
    before = run("--fleet", fleet, "--machines-add", slot, "--zone-loss", "b", "-ojson")
    after = run("--fleet", fleet, "--zone-loss", "b", "--machines-add", slot, "-ojson")
    assert json.loads(before.output)["removedMachines"] == 6
    assert json.loads(after.output)["removedMachines"] == 5
    assert json.loads(after.output)["changed"]["actionsByKind"]["Provision"] == 1


def test_a_file_of_edits_is_the_same_as_flags(fleet: str, tmp_path: Path) -> None:
    file = tmp_path / "overlay.yaml"
    file.write_text("- zone-loss: b\n- demand cluster=shop x1.5\n")
    said = run("--fleet", fleet, "--overlay", str(file), "-ojson")
    flags = run("--fleet", fleet, "--zone-loss", "b", "--demand", "cluster=shop x1.5", "-ojson")
    assert said.output == flags.output
    assert said.exit_code == 0


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        pytest.param(
            ["--cluster-leave", "batch", "--demand", "cluster=batch x2"],
            "cluster-leave batch and demand cluster=batch x2: batch has no demand once it has left",
            id="demand of a cluster that leaves",
        ),
        pytest.param(
            ["--zone-loss", "b", "--price", "zone=b x2"],
            "zone-loss b and price zone=b x2: the machines of the second are gone by then",
            id="a price in a zone that is lost",
        ),
        pytest.param(
            ["--option", "drainSeconds=1", "--option", "drainSeconds=2"],
            "drainSeconds has two values",
            id="an option twice",
        ),
        pytest.param(
            ["--demand", "cluster=shp x2"],
            "cluster shp asks for nothing in this cycle; did you mean shop?",
            id="a cluster that is misspelt",
        ),
        pytest.param(
            ["--price", "capacity=Spt x2", "--demand", "shop"],
            "'Spt' is no capacity type; did you mean spot?",
            id="a capacity type that is misspelt",
        ),
        pytest.param(["--price", "capacity=Spot"], "does not say how much", id="no amount"),
        pytest.param(["--price", "zone=a xnan"], "not from 0 to", id="not a number"),
        pytest.param(
            ["--option", "drainSecond=1"], "did you mean drainSeconds?", id="unknown option"
        ),
        pytest.param(["--option", "drainSeconds=-1"], "drainSeconds", id="bad value of an option"),
        pytest.param(
            ["--machines-add", "{id: bm-00, state: Speculative, capacityType: Spot}"],
            "machine bm-00 is there already",
            id="a machine that is there",
        ),
        pytest.param(
            ["--machines-add", "{id: x, state: Idel, capacityType: Spot}"],
            "machines[0].state",
            id="a machine with a bad state",
        ),
        pytest.param(["--demand", "{cluster: shop"], "not a mapping", id="broken YAML"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_remedy(
    fleet: str, edits: list[str], told: str
) -> None:
    answer = run("--fleet", fleet, *edits)
    assert answer.exit_code == 2
    assert told in answer.output


def test_a_selector_that_matches_nothing_is_a_warning(fleet: str) -> None:
    answer = run("--fleet", fleet, "--zone-loss", "q")
    assert answer.exit_code == 0
    assert "warning: zone-loss q: matches no machine; there are zones a, b, c" in answer.output


@pytest.mark.parametrize(
    ("selector", "removed"),
    [
        ("id=bm-0*", 6),
        ("bm-00 machine/bm-01", 2),
        ("type=*-8 zone=a,c", 6),
        ("cluster=shop state=configured", 6),
        ("provider=sim capacity=bare-metal", 6),
        ("label.kubernetes.io/arch=arm64", 0),
    ],
)
def test_selectors_take_terms_alternatives_and_globs(
    fleet: str, selector: str, removed: int
) -> None:
    answer = run("--fleet", fleet, "--machines-remove", selector, "-ojson")
    assert json.loads(answer.output)["removedMachines"] == removed


def test_every_problem_of_a_file_of_edits_is_told_with_its_place(
    fleet: str, tmp_path: Path
) -> None:
    file = tmp_path / "overlay.yaml"
    file.write_text("- zone-los: b\n- price: x\n- {a: 1, b: 2}\n")
    answer = run("--fleet", fleet, "--overlay", str(file))
    assert answer.exit_code == 2
    assert "[0].zone-los: no such edit; did you mean zone-loss?" in answer.output
    assert "[1].price: " in answer.output
    assert "[2]" in answer.output


def test_a_new_cluster_joins_and_a_cluster_leaves(fleet: str) -> None:
    joins = "late [{priority: 500, aggregateResources: {cpu: 8}, minUnit: {cpu: 8}}]"
    answer = run("--fleet", fleet, "--cluster-join", joins, "--cluster-leave", "batch", "-ojson")
    document = json.loads(answer.output)
    clusters = {c["cluster"]: c["after"] for c in document["clusters"]}
    assert clusters["late"]["machines"] == 1
    assert clusters["batch"]["machines"] == 0
    assert document["changed"]["actionsByKind"] == {"Bootstrap": 4, "Reclaim": 3}


def test_added_demand_is_told_whether_or_not_it_was_short_before(fleet: str) -> None:
    """8 of 15 machines are free or lower; shop has 72 of its 72 cores, batch 24 of 24."""

    def added(priority: int, cpu: int) -> dict[str, object]:
        need = f"{{cluster: batch, priority: {priority}, aggregateResources: {{cpu: {cpu}}}, "
        said = run("--fleet", fleet, "--demand", need + "minUnit: {cpu: 8}}", "-ojson")
        assert said.exit_code == 0, said.output
        (told,) = json.loads(said.output)["added"]
        return {name: told[name] for name in ("covered", "code")}

    # Three bare metal machines are left over.
    assert added(100, 24) == {"covered": True, "code": ""}
    assert added(100, 32)["covered"] is False
    # More important than what shop holds: it may take them.
    assert added(2000, 72) == {"covered": True, "code": ""}
    assert added(2000, 800)["covered"] is False
    assert added(2000, 800)["code"]
