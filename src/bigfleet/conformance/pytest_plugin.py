"""The suite as pytest items: `pytest -p bigfleet.conformance.pytest_plugin --conformance-exec CMD`.

Each row is one item, `conformance[B302]`. All of them are run together when the first is asked for,
as the command does, and each item tells how its row ended.
"""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from bigfleet.conformance.catalogue import ROWS
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.exec_spec import command_of
from bigfleet.conformance.lab import Lab
from bigfleet.conformance.outcomes import Findings, Outcome
from bigfleet.conformance.pace import SETTLE, Pace
from bigfleet.conformance.processes import ExecLab, TargetLab
from bigfleet.conformance.rows import Row
from bigfleet.conformance.runner import Run, run_rows
from bigfleet.conformance.selection import profiles_of, selected
from bigfleet.conformance.trial import Settings


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "BigFleet provider conformance")
    group.addoption("--conformance-exec", default="", help="Start the provider with this command.")
    group.addoption("--conformance-target", default="", help="A provider that is running.")
    group.addoption("--conformance-profile", default="core", help="Profiles the provider claims.")
    group.addoption("--conformance-only", default="", help="Rows by id or pattern.")
    group.addoption("--conformance-settle", type=float, default=SETTLE, help="Seconds to settle.")


class Broke(Exception):
    """The provider broke the row."""


class Certification:
    """One run of the chosen rows, made when the first result is wanted."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        profiles = profiles_of(config.getoption("--conformance-profile"))
        patterns = [p for p in config.getoption("--conformance-only").split(",") if p]
        self.rows: list[Row] = selected(ROWS, profiles, patterns)
        self._bare_metal = "bare-metal" in profiles
        self._findings: Findings | None = None

    def outcome(self, row: Row) -> Outcome:
        if self._findings is None:
            with tempfile.TemporaryDirectory(prefix="bigfleet-conformance-") as scratch:
                self._findings = asyncio.run(self._run(Path(scratch)))
        return self._findings.of(row.id)

    async def _run(self, scratch: Path) -> Findings:
        clock = SystemClock()
        lab = self._lab(clock, scratch)
        settings = Settings(bare_metal=self._bare_metal, scratch=scratch)
        pace = Pace(settle=self._config.getoption("--conformance-settle"))
        try:
            return await run_rows(Run(lab, clock, settings, pace), self.rows)
        finally:
            await lab.close()

    def _lab(self, clock: SystemClock, scratch: Path) -> Lab:
        if target := self._config.getoption("--conformance-target"):
            return TargetLab(target, clock)
        command = command_of(self._config.getoption("--conformance-exec"))
        return ExecLab({"default": command}, clock, scratch / "logs")


class Rows(pytest.Collector):
    """All items of the suite."""

    def collect(self) -> Iterable[pytest.Item]:
        run = Certification(self.config)
        for row in run.rows:
            yield RowItem.made(self, row, run)


class RowItem(pytest.Item):
    row: Row
    run: Certification

    @classmethod
    def made(cls, parent: Rows, row: Row, run: Certification) -> "RowItem":
        item: RowItem = cls.from_parent(parent, name=f"conformance[{row.id}]")
        item.row, item.run = row, run
        return item

    def runtest(self) -> None:
        outcome = self.run.outcome(self.row)
        if outcome.status == "failed":
            raise Broke("\n".join(part for part in (outcome.reason, outcome.replay) if part))
        if outcome.status != "passed":
            pytest.skip(f"{outcome.status}: {outcome.reason}")

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None
    ) -> str:
        del style
        return f"{self.row.id} {self.row.title}\n{excinfo.value}"

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.config.rootpath, None, self.name


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    config = session.config
    if config.getoption("--conformance-exec") or config.getoption("--conformance-target"):
        rows: Rows = Rows.from_parent(session, name="conformance")
        items.extend(rows.collect())
