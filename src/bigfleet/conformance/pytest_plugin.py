"""The suite as pytest items: `pytest -p bigfleet.conformance.pytest_plugin --conformance-exec CMD`.

Each row is one item, `conformance[B302]`. All of them are run together when the first is asked for,
as the command does, and each item tells how its row ended. The last item, `conformance[verdict]`,
passes only for CERTIFIED: rows that were skipped or not run must not pass for a certificate.
"""

import asyncio
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from bigfleet.conformance.catalogue import ROWS, profiles_of, selected
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.launchers import Launcher
from bigfleet.conformance.pace import CUT_OFF, SETTLE, Pace
from bigfleet.conformance.processes import ExecLauncher, TargetLauncher, command_of
from bigfleet.conformance.rows import Findings, Row, RowOutcome
from bigfleet.conformance.runner import Run, run_rows
from bigfleet.conformance.trial import Settings
from bigfleet.conformance.verdicts import RunVerdict, completed, verdict_of


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "BigFleet provider conformance")
    group.addoption("--conformance-exec", default="", help="Start the provider with this command.")
    group.addoption("--conformance-target", default="", help="A provider that is running.")
    group.addoption("--conformance-profile", default="core", help="Profiles the provider claims.")
    group.addoption("--conformance-only", default="", help="Rows by id or pattern.")
    group.addoption("--conformance-settle", type=float, default=SETTLE, help="Seconds to settle.")
    group.addoption(
        "--conformance-cut-off", type=float, default=CUT_OFF, help="Timeout in B1006, seconds."
    )
    group.addoption("--conformance-boot-timeout", type=float, default=20.0, help="Seconds to boot.")


class Broke(Exception):
    """The provider broke the row."""


class Certification:
    """One run of the chosen rows, made when the first result is wanted."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._profiles = profiles_of(config.getoption("--conformance-profile"))
        patterns = [p for p in config.getoption("--conformance-only").split(",") if p]
        self.rows: list[Row] = selected(ROWS, self._profiles, patterns)
        self._all = len(self.rows) if not patterns else -1
        self._findings: Findings | None = None

    @property
    def whole(self) -> bool:
        return len(self.rows) == self._all

    def keep(self, items: Iterable[pytest.Item]) -> None:
        """Run only the rows whose items pytest was asked for."""
        wanted = {item.row.id for item in items if isinstance(item, RowItem)}
        self.rows = [row for row in self.rows if row.id in wanted]

    def outcome(self, row: Row) -> RowOutcome:
        return self._found().of(row.id)

    def verdict(self) -> RunVerdict:
        findings = self._found()
        outcomes = completed(findings, ROWS, self._profiles)
        return verdict_of(outcomes, findings.capabilities, self._profiles)

    def _found(self) -> Findings:
        if self._findings is None:
            with tempfile.TemporaryDirectory(prefix="bigfleet-conformance-") as scratch:
                self._findings = asyncio.run(self._run(Path(scratch)))
        return self._findings

    async def _run(self, scratch: Path) -> Findings:
        clock = SystemClock()
        launcher = self._launcher(clock, scratch)
        settings = Settings(bare_metal="bare-metal" in self._profiles, scratch=scratch)
        option = self._config.getoption
        pace = Pace(settle=option("--conformance-settle"), cut_off=option("--conformance-cut-off"))
        try:
            return await run_rows(Run(launcher, clock, settings, pace), self.rows)
        finally:
            await launcher.close()

    def _launcher(self, clock: SystemClock, scratch: Path) -> Launcher:
        if target := self._config.getoption("--conformance-target"):
            return TargetLauncher(target, clock)
        command = command_of(self._config.getoption("--conformance-exec"))
        patience: float = self._config.getoption("--conformance-boot-timeout")
        return ExecLauncher({"default": command}, clock, scratch / "logs", patience)


class Rows(pytest.Collector):
    """All items of the suite."""

    def collect(self) -> Iterable[pytest.Item]:
        run = Certification(self.config)
        for row in run.rows:
            yield RowItem.made(self, row, run)
        if run.whole:
            yield VerdictItem.made(self, run)


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


class VerdictItem(pytest.Item):
    run: Certification

    @classmethod
    def made(cls, parent: Rows, run: Certification) -> "VerdictItem":
        item: VerdictItem = cls.from_parent(parent, name="conformance[verdict]")
        item.run = run
        return item

    def runtest(self) -> None:
        if not self.run.whole:
            pytest.skip("not all rows were asked for")
        verdict = self.run.verdict()
        if verdict.word != "CERTIFIED":
            raise Broke("\n".join((verdict.word, *verdict.reasons)))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None
    ) -> str:
        del style
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.config.rootpath, None, self.name


def pytest_collection_finish(session: pytest.Session) -> None:
    """After `-k` and the like had their say."""
    for run in {item.run for item in session.items if isinstance(item, RowItem)}:
        run.keep(session.items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    config = session.config
    if config.getoption("--conformance-exec") or config.getoption("--conformance-target"):
        rows: Rows = Rows.from_parent(session, name="conformance")
        items.extend(rows.collect())
