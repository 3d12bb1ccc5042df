"""Tells a person at a terminal how far compiling is."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bigfleet.compiling import Progress

#: A cache is read faster than this: no line for it.
_WORTH_TELLING_SECONDS = 1.5


def compile_all(*, always: bool = False) -> "Progress":
    """Compiles the kernels of everything that decides, unless a cache already has all of them.

    `always` also reads those of a full cache into this process.
    """
    from bigfleet import compiling

    if not always and compiling.is_complete():
        return compiling.Progress(0, 0, "", 0.0)
    shown = sys.stderr.isatty()
    is_open = False

    def told(progress: "Progress") -> None:
        nonlocal is_open
        if shown and progress.seconds >= _WORTH_TELLING_SECONDS:
            text = f"compiling kernels: {progress.done} of {progress.total}"
            click.echo(f"\r{text}, {progress.seconds:.0f} s ", err=True, nl=False)
            is_open = True

    ended = compiling.compile_kernels(told)
    if is_open:
        click.echo("", err=True)
    return ended
