"""All twelve beats on a living fleet, and `up --headless --tour` as scripts start it."""

import asyncio
import json
import signal
from pathlib import Path

from bigfleet.edge.logs import NullLog
from bigfleet.up.fleet_watch import FleetWatch
from bigfleet.up.scenario import Scenario
from bigfleet.up.tour.tour import BeatStatus, TourCommand
from tests.up.fleets import FAST, running
from tests.up.test_the_up_command import PATIENCE_SECONDS, free_base, up
from tests.up.unhurried_clock import UnhurriedClock

TOUR_SECONDS = 600.0


async def test_every_beat_comes_about_and_the_living_script_goes_on() -> None:
    async with running(FAST) as fleet:
        scenario = Scenario(fleet, UnhurriedClock(), NullLog(), FleetWatch(), dwell_seconds=0.0)
        driver = scenario.driver
        assert driver is not None
        driver.command(TourCommand.PLAY)
        script = fleet.clusters.seconds
        async with asyncio.timeout(TOUR_SECONDS):
            await driver.run(ends=True)
        beats = scenario.document()["tour"]["beats"]
        assert [(b["number"], b["status"], b["sentence"]) for b in beats] == [
            (number, BeatStatus.REACHED.value, beats[number - 1]["sentence"])
            for number in range(1, 13)
        ]
        assert fleet.down == frozenset()
        assert not fleet.clusters.demand.is_guided
        assert fleet.clusters.seconds - script < 60, "the script stood still meanwhile"
        await scenario.close()


def test_a_tour_that_is_ended_early_tells_what_was_not_played(tmp_path: Path) -> None:
    words = ("--headless", "--tour", "-o", "json", "--speed", "20")
    with up(tmp_path, *words, "--port-base", str(free_base())) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert (first["kind"], first["number"], first["name"]) == ("beat", 1, "pool")
    assert first["status"] == "reached"
    assert "One pool of 1,200 machines" in first["sentence"]
    assert process.returncode == 1
    assert "beat 12, Decided again: it was not played to its end" in complaints
    assert list(tmp_path.iterdir()) == []
