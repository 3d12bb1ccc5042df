"""What a change answers with: a sentence for people; for programs also the thing that changed."""

from typing import Any

import click

from bigfleet.cli.request_options import RequestOptions
from bigfleet.cli.terminal import plain


def confirm(request_options: RequestOptions, sentence: str, **changed: Any) -> None:
    if request_options.json:
        from bigfleet.cli.tables import write_json

        write_json({**changed, "text": sentence}, request_options.now)
    else:
        click.echo(plain(sentence))
