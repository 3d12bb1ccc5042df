"""SIGHUP: what may change changes, what may not is named, and nonsense changes nothing."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from bigfleet.cli.settings.configuration import Sources, loaded
from bigfleet.cli.settings.keys import Section
from bigfleet.model.errors import BadInput
from bigfleet.model.settings import setting
from bigfleet.shard.settings import ShardSettings
from tests.settings.verbs import load, written

BEFORE = "shard: {cycle_interval: 2s, workers: 3}"


def test_reloadable_keys_are_applied_and_others_wait_for_a_restart(tmp_path: Path) -> None:
    file = written(tmp_path, BEFORE)
    configuration = load(file)
    written(tmp_path, "shard: {cycle_interval: 5s, workers: 4, dry_run: true}")
    reloaded = configuration.reloaded()
    settings = reloaded.configuration.of(ShardSettings)
    assert (settings.cycle_interval, settings.workers, settings.dry_run) == (5.0, 3, True)
    assert [str(change) for change in reloaded.applied] == [
        "shard.cycle_interval: 2s -> 5s",
        "shard.dry_run: false -> true",
    ]
    assert [str(change) for change in reloaded.needs_restart] == ["shard.workers: 3 -> 4"]


def test_a_key_taken_out_of_the_file_is_the_default_again(tmp_path: Path) -> None:
    configuration = load(written(tmp_path, BEFORE))
    written(tmp_path, "shard: {workers: 3}")
    settings = configuration.reloaded().configuration.of(ShardSettings)
    assert settings.cycle_interval == 1.0


def test_flags_and_variables_still_beat_the_file(tmp_path: Path) -> None:
    flags = {"shard.cycle_interval": ("--cycle-interval", "9s")}
    variables = {"BIGFLEET_SHARD_DRY_RUN": "true"}
    configuration = load(written(tmp_path, BEFORE), variables, flags)
    written(tmp_path, "shard: {cycle_interval: 5s, dry_run: false, workers: 3}")
    reloaded = configuration.reloaded()
    assert (reloaded.applied, reloaded.needs_restart) == ((), ())


def test_what_must_wait_is_named_at_every_reload_until_the_restart(tmp_path: Path) -> None:
    configuration = load(written(tmp_path, BEFORE))
    written(tmp_path, "shard: {cycle_interval: 2s, workers: 4}")
    first = configuration.reloaded()
    second = first.configuration.reloaded()
    assert first.needs_restart == second.needs_restart
    assert len(second.needs_restart) == 1


def test_a_file_that_became_nonsense_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    configuration = load(written(tmp_path, BEFORE))
    written(tmp_path, "shard: {cycle_interval: soon}")
    with pytest.raises(BadInput):
        configuration.reloaded()
    assert configuration.of(ShardSettings).cycle_interval == 2.0


@dataclass(frozen=True, slots=True)
class Range:
    low: int = setting(1, "the lower end", reloadable=True)
    high: int = setting(5, "the upper end")


RANGE = Section(
    "cli", Range, lambda ends: [("low", "is above high")] if ends.low > ends.high else []
)


def test_a_change_that_only_fits_after_a_restart_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "cli: {low: 1, high: 5}")
    configuration = loaded((RANGE,), Sources(file=file))
    written(tmp_path, "cli: {low: 7, high: 9}")
    with pytest.raises(BadInput, match=r"cli\.low .*: is above high"):
        configuration.reloaded()
