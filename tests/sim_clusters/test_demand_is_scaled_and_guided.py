"""The script's demand times a factor, or what a guide asks for: what clusters are told to run."""

import pytest

from bigfleet.sim.demand import Asked, Demand
from bigfleet.sim.workloads import gang, job, web

WEB, ETL = web("web"), job("etl")


def told(demand: Demand) -> dict[str, int]:
    return {asked.workload.name: asked.pods for asked in demand.changes()}


def test_a_change_of_the_script_is_told_once() -> None:
    demand = Demand()
    demand.on_script("shop", WEB, 10)
    assert told(demand) == {"web": 10}
    assert told(demand) == {}
    demand.on_script("shop", WEB, 0)
    assert told(demand) == {"web": 0}


def test_a_factor_scales_its_class_and_no_other() -> None:
    demand = Demand()
    demand.on_script("shop", WEB, 10)
    demand.on_script("batch", ETL, 30)
    told(demand)
    demand.set_factor("shop", "web", 1.5)
    assert told(demand) == {"web": 15}
    demand.on_script("shop", WEB, 20)
    assert told(demand) == {"web": 30}
    demand.set_factor("shop", "web", 0.0)
    assert told(demand) == {"web": 0}


@pytest.mark.parametrize(
    ("factor", "runs"),
    [
        (1.0, {"train-0", "train-1"}),
        (0.5, {"train-1"}),
        (1.5, {"train-0", "train-1", "train-1-x1"}),
        (2.0, {"train-0", "train-0-x1", "train-1", "train-1-x1"}),
        (0.0, set()),
    ],
)
def test_gangs_keep_their_size_and_there_are_more_or_fewer_of_them(
    factor: float, runs: set[str]
) -> None:
    demand = Demand()
    demand.set_factor("ml", "training", factor)
    for number in range(2):
        demand.on_script("ml", gang(f"train-{number}"), 16)
    asked = demand.changes()
    assert {each.workload.name for each in asked} == runs
    assert {each.pods for each in asked} <= {16}
    assert len({each.workload.need_key("ml") for each in asked}) == len(runs)


def test_a_guide_has_all_of_the_demand_until_it_gives_it_back() -> None:
    demand = Demand()
    demand.on_script("shop", WEB, 10)
    told(demand)
    demand.guide([Asked("batch", ETL, 3)])
    assert told(demand) == {"web": 0, "etl": 3}
    demand.on_script("shop", WEB, 12)
    demand.set_factor("shop", "web", 2.0)
    assert told(demand) == {}
    demand.give_back()
    assert told(demand) == {"etl": 0, "web": 24}


@pytest.mark.parametrize(
    ("cluster", "name", "factor", "complaint"),
    [
        ("shop", "training", 1.0, "shop/training is not a class of work; there are shop/critical"),
        ("shop", "web", 3.5, "write a number from 0 to 3"),
        ("shop", "web", float("nan"), "write a number from 0 to 3"),
        ("shop", "web", -1.0, "write a number from 0 to 3"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    cluster: str, name: str, factor: float, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Demand().set_factor(cluster, name, factor)
