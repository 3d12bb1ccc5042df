"""`bigfleet provider run`: which Backend, which settings, which options, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from bigfleet import process
from bigfleet.cli.main import cli
from bigfleet.model.durations import seconds_of
from bigfleet.model.errors import BadInput
from bigfleet.provider import ProviderServer
from bigfleet.provider.ledger.decisions import Sizes
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.targets import backend_of, settings_of_words
from bigfleet.provider.testing import FakeSubstrate

FAKE = "bigfleet.provider.testing:FakeSubstrate"
REAL = "tests.provider.commands.test_running_a_provider:Real"


class Real(FakeSubstrate):
    """Claims to have credentials."""

    fake = False


class Hasty(FakeSubstrate):
    """Wants to be looked at often."""

    def tuned(self, options: ProviderOptions) -> ProviderOptions:
        timing = replace(options.timing, reconcile=1.0, create=7.0)
        return replace(options, timing=timing, miss_seconds=2.0)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ProviderServer]:
    """Servers that were about to serve."""
    made: list[ProviderServer] = []

    async def serve(server: ProviderServer) -> int:
        made.append(server)
        return 0

    monkeypatch.setattr(process, "serve", serve)
    monkeypatch.setattr(process, "exit_now", lambda code: None)
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["provider", "run", *arguments])


def options_of(served: list[ProviderServer], *arguments: str) -> ProviderOptions:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return served[-1].options


def test_flags_become_options(served: list[ProviderServer]) -> None:
    options = options_of(
        served,
        *[FAKE, "--addr=127.0.0.1:1234", "--provider=certify", "--transition-timeout=2s"],
        *["--use-fake-backend", "--fault-selectors", "--seed-count=9", "--reflection=false"],
        *["--create-timeout", "3s", "--miss-threshold", "7", "--failed-exit", "new_id"],
    )
    timing = options.timing
    assert (options.address, options.provider) == ("127.0.0.1:1234", "certify")
    assert (timing.create, timing.configure, timing.drain, timing.delete) == (3.0, 2.0, 2.0, 2.0)
    assert (options.fault_selectors, options.reflection) == (True, False)
    assert (options.miss_threshold, options.failed_exit) == (7, "new_id")
    assert served[-1]._open_context.seed_count == 9


def test_bounds_are_flags(served: list[ProviderServer]) -> None:
    bounds = ["--max-metadata-bytes=5", "--max-metadata-keys=6", "--max-blob-bytes=7"]
    options = options_of(served, FAKE, *bounds, "--journal-rows=8", "--metrics-addr=127.0.0.1:1")
    assert options.sizes == Sizes(5, 6, 7)
    assert options.journal_rows == 8
    assert (options.metrics_address, options.metrics_may_move) == ("127.0.0.1:1", False)


def test_without_flags_the_contracts_defaults_count(served: list[ProviderServer]) -> None:
    options = options_of(served, FAKE)
    expected = replace(
        ProviderOptions(),
        provider="fakesubstrate",
        metrics_address="127.0.0.1:9090",
        metrics_may_move=True,
    )
    assert options == expected


def test_a_backends_own_defaults_hold_until_a_flag_says_otherwise(
    served: list[ProviderServer],
) -> None:
    hasty = "tests.provider.commands.test_running_a_provider:Hasty"
    options = options_of(served, hasty, "--reconcile-interval", "9s")
    assert (options.timing.reconcile, options.timing.create) == (9.0, 7.0)
    assert options.miss_seconds == 2.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["nonsense"], "MODULE:CLASS"),
        (["no.such.module:X"], "No module named"),
        (["bigfleet.provider:MemoryStore"], "not a bigfleet.provider.Backend"),
        ([FAKE, "--tls-cert=c.pem"], "all or none"),
        ([FAKE, "--colour", "red"], "colour"),
        ([FAKE, "--set", "x"], "key=value"),
        ([FAKE, "--create-timeout", "soon"], "not a duration"),
        ([REAL, "--fault-selectors"], "--allow-faults-in-production"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    served: list[ProviderServer], arguments: list[str], text: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, served) == (2, [])
    assert text in result.output


def test_faults_in_production_need_to_be_meant(served: list[ProviderServer]) -> None:
    assert options_of(served, REAL, "--fault-selectors", "--use-fake-backend").fault_selectors
    meant = options_of(served, REAL, "--fault-selectors", "--allow-faults-in-production")
    assert meant.fault_selectors


def test_a_damaged_state_file_is_a_start_up_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"not a database" * 400)
    result = run(FAKE, "--addr=127.0.0.1:0", "--metrics-addr=", f"--state={tmp_path}/state.db")
    assert result.exit_code == 2
    assert "Restore a backup" in result.output


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--preset", "demo"], {"preset": "demo"}),
        (["--preset=demo", "--couple"], {"preset": "demo", "couple": "true"}),
        (["--no-control", "--seed", "4"], {"control": "false", "seed": "4"}),
        (["--max-age", "3"], {"max_age": "3"}),
    ],
)
def test_unknown_flags_are_settings(words: list[str], settings: dict[str, Any]) -> None:
    assert settings_of_words(words) == settings


def test_a_setting_the_backend_does_not_have_is_refused() -> None:
    with pytest.raises(BadInput, match="colour"):
        backend_of(FAKE, {"colour": "red"})


@given(st.integers(0, 10**6))
def test_durations_are_read_as_go_writes_them(milliseconds: int) -> None:
    assert seconds_of(f"{milliseconds}ms") == pytest.approx(milliseconds / 1000)
    assert seconds_of(f"1h{milliseconds}s") == 3600 + milliseconds
    assert seconds_of(str(milliseconds)) == milliseconds


@pytest.mark.parametrize("text", ["", "s", "5 s", "5x", "-5s", "nan", "inf", "1h-5s"])
def test_other_texts_are_no_durations(text: str) -> None:
    assert seconds_of(text) is None
