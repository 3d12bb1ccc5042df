"""`plan --demand`: today's machines with tomorrow's demand."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.model.resources import Resources
from bigfleet.plan.demand_scale import DemandScale, scale_of, scaled
from tests.plan.fleets import fleet_of

FLEET = """
version: 1
kind: Fleet
machines:
  - {id: "od-{0}", count: 4, state: Speculative, capacityType: OnDemand, pricePerHour: 1,
     resources: {cpu: 8}}
  - {id: c-1, state: Configured, cluster: shop, capacityType: OnDemand, resources: {cpu: 8}}
needs:
  - {cluster: shop, priority: 5, aggregateResources: {cpu: 8}}
  - {cluster: ml, priority: 1, aggregateResources: {cpu: 3}}
"""


def plan(folder: Path, *words: str) -> Result:
    file = folder / "fleet.yaml"
    file.write_text(FLEET)
    return CliRunner().invoke(cli, ["plan", str(file), *words])


def test_more_demand_buys_more_machines(tmp_path: Path) -> None:
    assert "1 Provision" not in plan(tmp_path).stdout
    grown = plan(tmp_path, "--demand", "cluster=shop x3", "--demand", "cluster=ml x0")
    assert grown.exit_code == 0, grown.output
    assert grown.stdout.count("Provision ") == 2
    assert "(+$2.00/h)" in grown.stdout


def test_a_factor_is_of_one_cluster_or_of_all_and_rounds_up() -> None:
    fleet = fleet_of("needs: [{cluster: a, priority: 1, aggregateResources: {pods: 3}}]")
    more = scaled(fleet, [DemandScale(1.5)])
    assert more.needs[0].need.aggregate == Resources.of({"pods": 5})
    assert scaled(fleet, [DemandScale(2, "a")]).needs[0].need.aggregate["pods"] == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "shop x2",
            "'shop x2' does not say whose demand grows how much; write 'cluster=NAME x1.4'",
        ),
        ("cluster=shop", "does not say"),
        ("cluster= x2", "does not say"),
        ("", "does not say"),
        ("xmany", "'many' is not a number"),
        ("xnan", "nan is not a factor from 0 to 1000"),
        ("x-1", "-1 is not a factor"),
        ("x1e300", "1e300 is not a factor"),
        ("cluster=shp x2", "no need of cluster shp in the file; its clusters are: ml, shop"),
    ],
)
def test_what_cannot_be_understood_is_told_with_what_to_write(
    tmp_path: Path, words: str, said: str
) -> None:
    refused = plan(tmp_path, "--demand", words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in refused.stderr


def test_the_words_are_read() -> None:
    assert scale_of("cluster=ml x1.4") == DemandScale(1.4, "ml")
    assert scale_of("x2") == DemandScale(2.0)
