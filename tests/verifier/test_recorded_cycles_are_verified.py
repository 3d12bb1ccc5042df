"""`bigfleet replay DIR --verify`: the verifier looks at what was decided then."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from bigfleet.cli.main import cli
from bigfleet.journal import replay
from bigfleet.journal.journal_file import JournalLimits, RealDisk
from bigfleet.verifier.facts import Invariant, Veto
from tests.journal.test_the_files_of_a_journal import written


def test_a_journal_of_the_real_engine_breaks_no_invariant(tmp_path: Path) -> None:
    written(tmp_path / "journal", 30, JournalLimits(), RealDisk())
    done = CliRunner().invoke(cli, ["replay", str(tmp_path / "journal"), "--verify"])
    assert done.exit_code == 0, done.output
    assert "verified: 0 actions break an invariant" in done.output


def test_a_journal_with_a_broken_cycle_exits_1_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "journal", 3, JournalLimits(), RealDisk())
    broken = Veto(Invariant.V2, "bare metal is never deleted", incident=True)
    monkeypatch.setattr(replay, "verify", lambda batch, *_: {0: broken} if batch.actions else {})
    done = CliRunner().invoke(cli, ["replay", str(tmp_path / "journal"), "--verify"])
    assert done.exit_code == 1, done.output
    assert "vetoed by the verifier (V2): bare metal is never deleted" in done.output
