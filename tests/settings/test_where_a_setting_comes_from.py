"""Flag over environment over file over default, and each says where it came from."""

import json
from pathlib import Path

import pytest

from bigfleet.cli.settings.sections import LOG, SHARD, TLS, LogSettings, TlsSettings
from bigfleet.shard.settings import ShardSettings
from tests.settings.verbs import load, run, written

YAML = "shard:\n  reconcile:\n    full_interval: 7m\n  id: from-file\n"
TOML = '[shard]\nid = "from-file"\n[shard.reconcile]\nfull_interval = "7m"\n'
VARIABLE = "BIGFLEET_SHARD_RECONCILE_FULL_INTERVAL"
KEY = "shard.reconcile.full_interval"


@pytest.mark.parametrize(("name", "text"), [("a.yaml", YAML), ("a.yml", YAML), ("a.toml", TOML)])
def test_a_file_of_either_format_beats_the_default(tmp_path: Path, name: str, text: str) -> None:
    configuration = load(written(tmp_path, text, name))
    settings = configuration.of(ShardSettings)
    assert (settings.reconcile.full_interval, settings.id) == (420.0, "from-file")
    assert configuration.settings[KEY].origin == f"file {tmp_path / name}"


def test_without_any_source_every_value_is_the_default() -> None:
    configuration = load()
    assert configuration.of(ShardSettings) == ShardSettings()
    assert configuration.of(LogSettings) == LogSettings()
    assert configuration.of(TlsSettings) == TlsSettings()
    assert {setting.origin for setting in configuration.settings.values()} == {"default"}


def test_the_stronger_source_wins(tmp_path: Path) -> None:
    file = written(tmp_path, YAML)
    env = {VARIABLE: "8m", "BIGFLEET_CONFIG": str(file)}
    shown = {
        "file": run("--print-config", "-o", "json", env={"BIGFLEET_CONFIG": str(file)}),
        "environment": run("--print-config", "-o", "json", env=env),
        "flag": run("--print-config", "-o", "json", "--reconcile-full-interval", "9m", env=env),
    }
    found = {name: json.loads(result.stdout)[KEY] for name, result in shown.items()}
    assert {name: setting["value"] for name, setting in found.items()} == {
        "file": 420.0,
        "environment": 480.0,
        "flag": 540.0,
    }
    assert [setting["origin"] for setting in found.values()] == [
        f"file {file}",
        f"environment {VARIABLE}",
        "flag --reconcile-full-interval",
    ]


def test_engine_settings_and_deadlines_of_providers_have_flags_and_variables() -> None:
    words = ("--provider-addr", "a=h:1", "--engine-drain-estimate", "45s")
    of_provider = ("--deadlines-of-provider", "a.creating=1h", "--deadlines-of-provider")
    env = {"BIGFLEET_SHARD_ENGINE_PARKING_AFTER": "4"}
    result = run(*words, *of_provider, "a.deleting=2m", "--print-config", "-o", "json", env=env)
    assert result.exit_code == 0, result.output
    found = {name: each["value"] for name, each in json.loads(result.stdout).items()}
    assert found["shard.engine.drain_estimate"] == 45.0
    assert found["shard.engine.parking_after"] == 4
    assert found["shard.deadlines.of_provider"] == ["a.creating=1h", "a.deleting=2m"]


def test_the_flag_of_a_config_file_beats_its_variable(tmp_path: Path) -> None:
    meant = written(tmp_path, "shard: {id: meant}", "meant.yaml")
    other = written(tmp_path, "shard: {id: other}", "other.yaml")
    result = run("--config", str(meant), env={"BIGFLEET_CONFIG": str(other)})
    assert "id='meant'" in result.output


def test_an_empty_variable_and_those_of_others_are_left_alone() -> None:
    environment = {VARIABLE: "", "BIGFLEET_SHARD_PORT": "tcp://10.0.0.1:7780"}
    assert load(environment=environment).of(ShardSettings) == ShardSettings()


@pytest.mark.parametrize(
    ("key", "flag", "variable"),
    [
        ("shard.listen", "--listen", "BIGFLEET_SHARD_LISTEN"),
        (KEY, "--reconcile-full-interval", VARIABLE),
        (
            "shard.rails.reclaim_cap_fraction",
            "--reclaim-cap-fraction",
            "BIGFLEET_SHARD_RAILS_RECLAIM_CAP_FRACTION",
        ),
        ("shard.drain.reclaim_grace", "--reclaim-grace", "BIGFLEET_SHARD_DRAIN_RECLAIM_GRACE"),
        ("shard.release.on_demand", "--on-demand", "BIGFLEET_SHARD_RELEASE_ON_DEMAND"),
        ("shard.session.outbox_bytes", "--outbox-bytes", "BIGFLEET_SHARD_SESSION_OUTBOX_BYTES"),
        ("tls.cert", "--tls-cert", "BIGFLEET_TLS_CERT"),
        ("log.level", "--log-level", "BIGFLEET_LOG_LEVEL"),
    ],
)
def test_a_key_has_a_flag_and_a_variable(key: str, flag: str, variable: str) -> None:
    found = load().settings[key].key
    assert (found.flag, found.variable) == (flag, variable)


def test_no_two_keys_share_a_flag_or_a_variable() -> None:
    keys = [key for section in (SHARD, TLS, LOG) for key in section.all_keys()]
    taken = ["--config", "--print-config", "--output"]
    taken += [alias.flag for alias in SHARD.aliases]
    flags = taken + [key.flag for key in keys]
    assert len(set(flags)) == len(flags)
    assert len({key.variable for key in keys}) == len(keys)


def test_every_key_says_what_it_is_for() -> None:
    assert [key.name for key in SHARD.all_keys() if not key.help] == []


def test_a_verb_keeps_its_own_options_beside_its_settings() -> None:
    result = run("--other", "mine", "--dry-run")
    assert "dry_run=True" in result.output
    assert result.output.rstrip().endswith("mine")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--coordinator-heartbeat-interval", "3s"], "shard.report.interval", 3.0),
        (["--incremental-reconcile"], "shard.reconcile.mode", "incremental"),
        (["--incremental-reconcile=false"], "shard.reconcile.mode", "full"),
        (["--phase1-workers", "3"], "shard.workers", 3),
        (["--phase1-workers", "3", "--workers", "5"], "shard.workers", 5),
    ],
    ids=["heartbeat", "incremental", "not incremental", "workers", "our own flag wins"],
)
def test_flags_of_the_existing_binaries_are_understood(
    words: list[str], key: str, value: object
) -> None:
    result = run("--print-config", "-o", "json", *words)
    assert json.loads(result.stdout)[key]["value"] == value


def test_a_flag_of_the_existing_binaries_without_meaning_here_is_refused() -> None:
    result = run("--phase1-retries", "10")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_the_table_shows_values_as_a_file_would_hold_them() -> None:
    result = run("--print-config", "--outbox-bytes", "1MiB", "--cycle-interval=90s")
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert rows["shard.session.outbox_bytes"] == ["1MiB", "flag", "--outbox-bytes"]
    assert rows["shard.cycle_interval"] == ["1m30s", "flag", "--cycle-interval", "yes"]
    assert rows["shard.reconcile.full_interval"] == ["5m", "default", "yes"]
    assert result.exit_code == 0
