"""Sweeps: each point is the what-if with its value, and what is told of all of them."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.model.latencies import latencies_of
from bigfleet.model.machines import CapacityType
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import (
    EngineOption,
    NeedSelector,
    NumberEdit,
    RemoveMachines,
    ScaleDemand,
    SetAttributes,
    SweepPoint,
)
from bigfleet.whatif import sweeping
from bigfleet.whatif.comparing import once
from bigfleet.whatif.questions import Questions
from bigfleet.whatif.settled import settle
from bigfleet.whatif.sweep_axes import axes_of, widened
from bigfleet.whatif.sweeping import sweep_until, swept
from tests.journal.lives import LivingFleet
from tests.whatif.test_whatif_answers import FLEET, run

LOSS = RemoveMachines(MachineSelector(zones=frozenset({"b"})))
SPOT = MachineSelector(capacity_types=frozenset({int(CapacityType.SPOT)}))


@pytest.fixture
def fleet(tmp_path: Path) -> str:
    file = tmp_path / "fleet.yaml"
    file.write_text(FLEET)
    return str(file)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("demand.ml=1.5:2:1", ScaleDemand(NeedSelector("ml"), 1.5)),
        ("demand=1.5:2:1", ScaleDemand(NeedSelector(), 1.5)),
        ("demand.priority>=7=1.5:2:1", ScaleDemand(NeedSelector(priority_min=7), 1.5)),
        ("demand.need/ml/n3f=1.5:2:1", ScaleDemand(NeedSelector("ml", "n3f"), 1.5)),
        ("price.spot=1.5:2:1", SetAttributes(SPOT, price=NumberEdit(1.5))),
        ("price.capacity=Spot=1.5:2:1", SetAttributes(SPOT, price=NumberEdit(1.5))),
        ("probability.Spot=1.5:2:1", SetAttributes(SPOT, probability=NumberEdit(1.5))),
        ("option.drainSeconds=5:9:1", EngineOption("drainSeconds", "5")),
    ],
)
def test_an_axis_is_an_edit_with_a_value(text: str, edit: object) -> None:
    (axis,) = axes_of([text])
    assert axis.edit(axis.values[0]) == edit


def test_values_are_those_a_person_writes() -> None:
    (axis,) = axes_of(["demand=1.0:2.0:0.1"])
    assert axis.values == (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0)
    (axis,) = axes_of(["demand=1:1:5"])
    assert axis.values == (1.0,)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["demand.ml"], "write AXIS=FROM:TO:STEP"),
        (["demand.ml=1:2"], "is not FROM:TO:STEP"),
        (["demand.ml=1:2:x"], "is not FROM:TO:STEP"),
        (["demand.ml=1:nan:1"], "finite"),
        (["demand.ml=1:2:0"], "the step is above 0"),
        (["demand.ml=2:1:1"], "TO is not below FROM"),
        (["demand.ml=0:1000000000:0.0001"], "more than 400 points"),
        (["demand.ml=1:2:0.1", "price=1:40:1"], "440 points; 400 are the most"),
        (["demand.ml=1:2:1", "demand.ml=1:3:1"], "given twice"),
        (["demand=1:2:1", "price=1:2:1", "probability=0:1:1"], "3 axes; 2 are the most"),
        (["demnd.ml=1:2:1"], "did you mean demand?"),
        (["price.gold=1:2:1"], "neither a capacity type"),
        (["demand.=1:2:1"], "does not say of what"),
        (["option=1:2:1"], "does not say of what"),
        (["demand.ml=-1:2:1"], "from 0 to"),
        (["demand.ml=1:5000:1000"], "from 0 to"),
    ],
)
def test_an_axis_that_cannot_be_swept_is_refused_with_the_remedy(
    texts: list[str], told: str
) -> None:
    with pytest.raises(BadInput) as refused:
        axes_of(texts)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("given", "wide"),
    [
        (["demand=1:2:0.1"], ["demand=1:2:0.1"]),
        (["demand=0:999:1"], ["demand=0:999:3"]),
        (["demand=1:40:1", "price=1:10:1"], ["demand=1:40:1", "price=1:10:1"]),
        (["demand=1:200:1", "price=1:10:1"], ["demand=1:200:5", "price=1:10:1"]),
        (["demand=1:2:1e-9"], ["demand=1:2:1e-9"]),
        (["demand", "price=x:1:1"], ["demand", "price=x:1:1"]),
    ],
)
def test_steps_that_are_too_small_are_widened_until_all_points_may_be_asked_for(
    given: list[str], wide: list[str]
) -> None:
    found, is_wider = widened(given)
    assert list(found) == wide
    assert is_wider == (given != wide)


def test_a_sweep_ends_with_what_it_has_when_the_time_is_up() -> None:
    *_, cycle = LivingFleet(7).cycles(4)
    axes = axes_of(["demand=1:2:0.25"])
    left = iter([10.0, 7.0, 4.0, 1.0])
    found = sweep_until(Questions(cycle.given, "3:4"), (LOSS,), axes, lambda: next(left))
    assert [point.values for point in found.points] == [(1.0,), (1.25,), (1.5,)]
    assert found.size == 5
    assert not found.is_complete
    assert found.points[0].answer.clusters == ()


def test_what_the_overlay_alone_warns_of_is_not_repeated_by_every_point() -> None:
    *_, cycle = LivingFleet(7).cycles(4)
    nowhere = RemoveMachines(MachineSelector(zones=frozenset({"q"})))
    questions = Questions(cycle.given, "3:4")
    told = frozenset(questions.answer((nowhere,)).warnings)
    assert len(told) == 1
    axes = axes_of(["price.zone=r=1:2:1"])
    found = sweep_until(questions, (nowhere,), axes, lambda: 9.0, told)
    assert [len(point.answer.warnings) for point in found.points] == [1, 1]
    assert told.isdisjoint(found.points[0].answer.warnings)


def test_each_point_is_the_what_if_with_its_value() -> None:
    *_, cycle = LivingFleet(7).cycles(4)
    axes = axes_of(["demand=0.5:2:0.75", "price.OnDemand=1:2:1"])
    points = list(swept(cycle.given, (LOSS,), axes, "3:4"))
    assert [point.values for point in points] == [
        (0.5, 1.0),
        (0.5, 2.0),
        (1.25, 1.0),
        (1.25, 2.0),
        (2.0, 1.0),
        (2.0, 2.0),
    ]
    latencies = latencies_of({"create": "3s"})
    settled = list(swept(cycle.given, (LOSS,), axes, "3:4", latencies))
    for point, rested in zip(points, settled, strict=True):
        edits = (LOSS, *(a.edit(v) for a, v in zip(axes, point.values, strict=True)))
        assert point.answer == once(cycle.given, edits, "3:4")
        assert rested.answer == settle(cycle.given, edits, "3:4", latencies)


def test_a_person_sees_a_table_and_a_chart(fleet: str) -> None:
    answer = run("--fleet", fleet, "--sweep", "demand.shop=1:1.5:0.25")
    assert answer.exit_code == 0, answer.output
    assert answer.output.splitlines() == [
        "Sweep of demand.shop   (cycle 3:18231)",
        "Now 0 Needs are short, at $3.75/h.",
        "",
        "DEMAND.SHOP  SHORT  NEWLY  PREEMPTED  NEW   $/H  PENALTIES $",
        "          1      0      0          0    3  3.75         0.00",
        "       1.25      0      0          0    6  3.75         0.00",
        "        1.5      1      1          2    6  3.75         5.00",
        "",
        "needs short by demand.shop",
        "   1 | 0",
        "1.25 | 0",
        f" 1.5 |{'#' * 40} 1",
        "",
        "$/h by demand.shop",
        *(f"{value:>4} |{'#' * 40} 3.75" for value in ("1", "1.25", "1.5")),
    ]


def test_two_axes_are_a_square(fleet: str) -> None:
    flags = ("--sweep", "demand.shop=1:1.5:0.5", "--sweep", "demand.batch=1:2:1")
    answer = run("--fleet", fleet, *flags, "--settle", "--latency", "configure=9s")
    assert answer.exit_code == 0, answer.output
    assert "COVERED AFTER  AT REST AFTER" in answer.output
    assert answer.output.splitlines()[-4:] == [
        "needs short: demand.shop down, demand.batch across",
        "    | 1 2",
        "  1 | 0 0",
        "1.5 | 1 1",
    ]


def test_programs_get_rows_or_a_document(fleet: str) -> None:
    flags = ("--fleet", fleet, "--zone-loss", "b", "--sweep", "demand.shop=1:2:1")
    rows = list(csv.DictReader(StringIO(run(*flags, "-ocsv").output)))
    assert [row["DEMAND.SHOP"] for row in rows] == ["1", "2"]
    document = json.loads(run(*flags, "-ojson").output)
    assert document["axes"] == [{"name": "demand.shop", "values": [1.0, 2.0]}]
    assert document["complete"] is True
    first, second = document["points"]
    assert first["values"] == {"demand.shop": 1.0}
    assert second["overlay"] == ["zone-loss b", "demand cluster=shop x2"]
    assert [float(row["$/H"]) for row in rows] == [
        each["changed"]["costPerHour"] for each in document["points"]
    ]
    alone = json.loads(
        run("--fleet", fleet, "--zone-loss", "b", "--demand", "cluster=shop x2", "-ojson").output
    )
    assert second["changed"] == alone["changed"]
    assert document["base"] == alone["base"]


def test_an_interrupt_leaves_what_there_is(fleet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sweeping.swept

    def interrupted(*given: object) -> Iterator[SweepPoint]:
        for place, point in enumerate(whole(*given)):  # type: ignore[arg-type]
            if place == 2:
                raise KeyboardInterrupt
            yield point

    monkeypatch.setattr(sweeping, "swept", interrupted)
    answer = run("--fleet", fleet, "--sweep", "demand.shop=1:2:0.25", "-ojson")
    assert answer.exit_code == 5
    assert "interrupted after 2 of 5 points" in answer.stderr
    document = json.loads(answer.stdout)
    assert document["complete"] is False
    assert (document["pointCount"], len(document["points"])) == (5, 2)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--sweep", "demand.shp=1:2:1"], "did you mean shop?"),
        (["--sweep", "demand.shop=1:2"], "is not FROM:TO:STEP"),
        (
            ["--cluster-leave", "shop", "--sweep", "demand.shop=1:2:1"],
            "shop has no demand once it has left",
        ),
    ],
)
def test_what_cannot_be_swept_is_refused(fleet: str, flags: list[str], told: str) -> None:
    answer = run("--fleet", fleet, *flags)
    assert answer.exit_code == 2
    assert told in answer.output


def test_a_selector_that_matches_nothing_is_told_a_few_times_only(fleet: str) -> None:
    answer = run("--fleet", fleet, "--sweep", "price.zone=q=1:9:1")
    assert answer.exit_code == 0
    assert answer.output.count("warning: ") == 3
