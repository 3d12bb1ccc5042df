"""A verb that only has settings, run in process."""

from collections.abc import Mapping
from pathlib import Path

import click
from click.testing import CliRunner, Result

from bigfleet.cli.settings.configuration import Configuration, Sources, loaded
from bigfleet.cli.settings.options import configured
from bigfleet.cli.settings.sections import LOG, SHARD, TLS
from bigfleet.shard.settings import ShardSettings

SECTIONS = (SHARD, TLS, LOG)


@click.command()
@configured(*SECTIONS)
@click.option("--other", default="")
def verb(configuration: Configuration, other: str) -> None:
    """Says its settings."""
    click.echo(f"{configuration.of(ShardSettings)!r} {other}")


def run(*words: str, env: Mapping[str, str] | None = None) -> Result:
    return CliRunner(env=env or {}).invoke(verb, words, prog_name="verb")


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, tuple[str, object]] | None = None,
) -> Configuration:
    return loaded(SECTIONS, Sources(flags or {}, environment or {}, file))


def written(folder: Path, text: str, name: str = "bigfleet.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path
