"""`whatif --settle --journal`: steps take what they took in the journal, unless a flag says it."""

import json

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.model.latencies import Latencies
from tests.questions.recorded_night import NIGHT

AT = "2026-03-14T03:09:00Z"


def run(*arguments: str) -> Result:
    settled = ("whatif", "--journal", str(NIGHT), "--settle", *arguments)
    result = CliRunner(env={"COLUMNS": "200"}).invoke(cli, list(settled))
    assert result.exit_code == 0, result.output
    return result


def document(*arguments: str) -> dict[str, object]:
    settling = json.loads(run(*arguments, "-o", "json").stdout)["settling"]
    assert isinstance(settling, dict)
    return settling


def test_the_answer_says_which_were_measured_and_of_how_many() -> None:
    """The provider of that night configures in 15 s and drains in 20 s."""
    lines = run("--at", AT, "--zone-loss", "b").stdout.splitlines()
    (measured,) = [line for line in lines if line.startswith("Latencies measured")]
    assert "configure.BareMetal 15s (n=12)" in measured
    assert "drain.BareMetal 20s (n=4)" in measured
    assert measured.endswith("medians of n machines each.")
    (assumed,) = [line for line in lines if line.startswith("Assumed: ")]
    assert "create 30s" in assumed
    told = document("--at", AT, "--zone-loss", "b")
    assert told["latencySamples"]["configure.BareMetal"] == 12  # type: ignore[index]
    assert told["latencies"]["drain.BareMetal"] == "20s"  # type: ignore[index]


def test_they_change_how_long_needs_wait() -> None:
    arguments = ("--at", "2026-03-14T03:11:00Z", "--demand", "cluster=batch x2")
    measured = json.loads(run(*arguments, "-o", "json").stdout)
    slower = json.loads(run(*arguments, "--latency", "configure=1m", "-o", "json").stdout)
    both = [answer["changed"]["settled"]["coveredAfter"] for answer in (measured, slower)]
    # Created in 40 s, then configured in 15 s, or in the minute that was said.
    assert [covered[-1]["seconds"] for covered in both] == [55.0, 100.0]


def test_a_flag_takes_the_place_of_every_measured_one_of_its_step() -> None:
    told = document("--at", AT, "--latency", "configure=40s", "--latency", "drain.Spot=1m")
    latencies, samples = told["latencies"], told["latencySamples"]
    assert isinstance(latencies, dict)
    assert isinstance(samples, dict)
    assert latencies["configure"] == "40s"
    assert latencies["drain.Spot"] == "1m"
    assert not [name for name in samples if name.startswith("configure")]
    assert samples["drain.BareMetal"] == 4
    shown = run("--at", AT, "--latency", "configure=40s").stdout
    assert "Latencies given: configure 40s." in shown


def test_what_is_recorded_later_changes_no_answer() -> None:
    assert document("--at", "1:2")["latencies"] == {}
    early = document("--at", "1:20")["latencySamples"]
    assert early == {"configure.BareMetal": 6, "configure.OnDemand": 1, "create.OnDemand": 1}


def test_a_sweep_says_it_too() -> None:
    shown = run("--at", AT, "--sweep", "demand.shop=1:1.1:0.1").stdout
    assert "Latencies measured in the journal: " in shown


def test_a_narrow_flag_leaves_the_others_of_its_step() -> None:
    measured = Latencies(
        {"create.Spot": 9, "create.OnDemand": 8}, {"create.Spot": 1, "create.OnDemand": 2}
    )
    both = measured.unless(Latencies({"create.Spot": 5}))
    assert both == Latencies({"create.Spot": 5, "create.OnDemand": 8}, {"create.OnDemand": 2})
    assert both.said_texts == {"create.Spot": "5s"}
    assert both.measured_texts == {"create.OnDemand": "8s (n=2)"}
