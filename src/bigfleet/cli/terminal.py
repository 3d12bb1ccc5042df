"""What every verb prints through: text that cannot drive the terminal, pipes that may close."""

import os
import re
import sys
from collections.abc import Iterable

import click

from bigfleet.model.errors import BadInput

EXIT_BAD_INPUT = 2
#: Problems of one input that are printed; the rest is counted.
MOST_SHOWN = 50
#: A single line: longer text is not a sentence any more.
_LONGEST_LINE = 2_000


def escaped(text: str) -> str:
    """Ids and labels come from others: control characters are shown as \\x1b, never obeyed."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


#: Bytes of UTF-8 that a terminal may obey: DEL, the control characters beyond it, and those that
#: turn or hide text. JSON escapes the others itself.
_OBEYED = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
)


def json_escaped(content: bytes) -> bytes:
    """The same JSON document, in which nothing drives a terminal: such characters stand in texts
    only, where their number says the same."""
    return _OBEYED.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), content)


#: The older name of `escaped`.
plain = escaped


def write_out(content: bytes) -> None:
    """To standard output; a closed pipe is not an error."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        unread()


def unread() -> None:
    """The pipe is closed; Python flushes once more at exit, and that must not fail either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse(lines: Iterable[str]) -> "click.exceptions.Exit":
    """One problem a line on standard error; the result is to be raised."""
    for line in lines:
        click.echo(plain(line[:_LONGEST_LINE]), err=True)
    return click.exceptions.Exit(EXIT_BAD_INPUT)


def refuse_input(name: str, problem: BadInput) -> "click.exceptions.Exit":
    """The first problems in full, and how many there are in all."""
    count = len(problem.problems) + problem.left_out
    said = f"{name}: {count:,} problem{'s' if count > 1 else ''}"
    if count > MOST_SHOWN:
        said += f", of which the first {MOST_SHOWN} are shown"
    return refuse([*map(str, problem.problems[:MOST_SHOWN]), f"{said}; nothing was planned"])


def refuse_problems(problem: BadInput) -> "click.exceptions.Exit":
    """The first problems in full, and how many more there are, if any."""
    lines = [str(each) for each in problem.problems[:MOST_SHOWN]]
    more = len(problem.problems) + problem.left_out - len(lines)
    return refuse([*lines, *([f"and {more:,} more"] if more else [])])
