"""Tells a person at a terminal how far compiling is, and ends it where SIGTERM asks for that."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
    if not always and (why := compiling.why_not_kept()):
        # Then each kernel is compiled when it is needed, not all for a plan that needs a few.
        click.echo(why, err=True)
        return compiling.Progress(0, 0, "", 0.0)
    shown = sys.stderr.isatty()
    is_open = False
    asked = threading.Event()

    def told(progress: "Progress") -> None:
        nonlocal is_open
        if asked.is_set():
            said = f"stopped after {progress.done} of {progress.total} kernels"
            click.echo(f"\n{said}" if is_open else said, err=True)
            raise click.exceptions.Exit(128 + signal.SIGTERM)
        if shown and progress.seconds >= _WORTH_TELLING_SECONDS:
            text = f"compiling kernels: {progress.done} of {progress.total}"
            click.echo(f"\r{text}, {progress.seconds:.0f} s ", err=True, nl=False)
            is_open = True

    with _at_sigterm(asked):
        ended = compiling.compile_kernels(told)
    if is_open:
        click.echo("", err=True)
    return ended


@contextmanager
def _at_sigterm(asked: threading.Event) -> Iterator[None]:
    """A handler of our own: process 1 of a container has none, and would not be ended at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
