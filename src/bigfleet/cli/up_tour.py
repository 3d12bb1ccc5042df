"""The tour of `up` on a terminal: what each beat said, line by line, and whether all came about."""

from collections.abc import Coroutine
from typing import Any

import click

from bigfleet.cli.output import Output
from bigfleet.cli.tables import document_bytes
from bigfleet.cli.terminal import plain
from bigfleet.model.coordination import Transfer
from bigfleet.up.reports import CycleReport
from bigfleet.up.scenario import Scenario, beat_document
from bigfleet.up.tour.tour import BeatStatus, TourCommand

_ENDED = (BeatStatus.REACHED, BeatStatus.FAILED, BeatStatus.SKIPPED)


class TourFace:
    """A line or an object for each beat; cycles are left out."""

    def __init__(self, scenario: Scenario, output: Output) -> None:
        self._scenario = scenario
        self._output = output
        self._told = 0
        scenario.listen(self._tell)

    def open(self, banner: str) -> None:
        if not self._output.is_document:
            click.echo(banner)

    def show(self, report: CycleReport) -> None:
        """The beats say what matters of it."""

    def show_move(self, transfer: Transfer) -> None:
        """There is one shard."""

    def close(self) -> None:
        """Nothing is open."""

    def _tell(self) -> None:
        """The beats that have ended since."""
        driver = self._scenario.driver
        assert driver is not None, "a fleet without a tour is refused before"
        tour = driver.tour
        while self._told < len(tour.beats) and tour.records[self._told].status in _ENDED:
            document = beat_document(tour, self._told)
            self._told += 1
            if self._output.is_document:
                click.echo(document_bytes({"kind": "beat", **document}, self._output), nl=False)
                continue
            click.echo(plain(f"{document['number']:>2}  {document['title']}: {document['status']}"))
            click.echo(plain(f"    {document['sentence']}"))


def playing(scenario: Scenario, *, at_once: bool, ends: bool) -> list[Coroutine[Any, Any, None]]:
    """The work of the tour; none where there can be no tour. `ends`: with the tour."""
    driver = scenario.driver
    if driver is None:
        return []
    if at_once:
        driver.command(TourCommand.PLAY)
    return [driver.run(ends=ends)]


def judged_tour(scenario: Scenario) -> list[str]:
    """A sentence for each beat that did not come about."""
    driver = scenario.driver
    assert driver is not None, "a fleet without a tour is refused before"
    tour = driver.tour
    return [
        f"beat {place + 1}, {beat.title}: {record.sentence or 'it was not played to its end'}"
        for place, (beat, record) in enumerate(zip(tour.beats, tour.records, strict=True))
        if record.status is not BeatStatus.REACHED
    ]
