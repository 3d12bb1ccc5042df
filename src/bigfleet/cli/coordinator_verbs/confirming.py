"""What a change answers with: a sentence for people; for programs also the thing that changed."""

from typing import Any

import click

from bigfleet.cli.manner import Manner
from bigfleet.cli.terminal import plain


def confirm(manner: Manner, sentence: str, **changed: Any) -> None:
    if manner.json:
        from bigfleet.cli.tables import write_json

        write_json({**changed, "text": sentence}, manner.now)
    else:
        click.echo(plain(sentence))
