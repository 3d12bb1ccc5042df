"""Tells a person at a terminal how far compiling or a journal is; SIGTERM ends the compiling."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bigfleet.compiling import Progress

#: A cache is read faster than this: no line for it.
_WORTH_TELLING_SECONDS = 1.5
_BETWEEN_LINES_SECONDS = 0.5


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
def counted_cycles() -> Iterator[Callable[[int], None]]:
    """A line on standard error, for a person at a terminal; it is told how many are done."""
    shown, began, told = sys.stderr.isatty(), time.monotonic(), 0.0

    def tell(cycles: int) -> None:
        nonlocal told
        now = time.monotonic()
        if shown and now - told >= _BETWEEN_LINES_SECONDS:
            told = now
            rate = cycles / max(now - began, 1e-9)
            click.echo(f"\r{cycles:,} cycles, {rate:,.0f} a second ", err=True, nl=False)

    yield tell
    if told:
        click.echo("", err=True)


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
