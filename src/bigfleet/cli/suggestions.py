"""Did you mean: verbs, verbs of a group and values of a choice that are nearly right.

click itself suggests options.
"""

import re
from collections.abc import Iterable, Sequence

import click

#: Words people bring along from other tools; the verb comes first here.
_OTHER_TOOLS = ("get", "list", "ls", "show")
_NOT_A_CHOICE = re.compile(r"'(?P<said>[^']*)' is (?:not one of|none of) ")


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Those that begin with the word, or are written alike."""
    from difflib import get_close_matches

    names = list(known)
    begun = [name for name in names if len(word) > 1 and name.startswith(word.lower())]
    return begun[:3] or get_close_matches(word.lower(), names, n=3)


def question(found: Sequence[str]) -> str:
    """`Did you mean 'machines'?`; empty where nothing was found."""
    return f"Did you mean {' or '.join(repr(name) for name in found)}?" if found else ""


def verbs_of_groups(word: str, commands: Iterable[click.Command]) -> list[str]:
    """Where a verb of that very name is: `bigfleet reports offerings`."""
    groups = (each for each in commands if isinstance(each, click.Group))
    return [f"bigfleet {group.name} {word}" for group in groups if word in group.commands]


def no_such_verb(
    word: str,
    known: Iterable[str],
    ctx: click.Context,
    rest: Sequence[str] = (),
    elsewhere: Sequence[str] = (),
) -> click.UsageError:
    """The result is to be raised; `rest` is what was typed after the word, `elsewhere` are commands
    that end in it."""
    names = list(known)
    found = elsewhere if 0 < len(elsewhere) <= 3 else nearest(word, names)
    if word in _OTHER_TOOLS and rest and (meant := nearest(rest[0], names)):
        found = [f"bigfleet {meant[0]}"]
    said = f"No such command {word!r}. {question(found)}"
    return click.UsageError(said.rstrip(), ctx)


def with_nearest_choice(problem: click.UsageError) -> click.UsageError:
    """The same problem; a wrong choice is told with the one that was meant."""
    if not isinstance(problem, click.BadParameter) or problem.param is None:
        return problem
    said = _NOT_A_CHOICE.match(problem.message)
    choices = getattr(problem.param.type, "choices", ())
    if said is None or not choices:
        return problem
    hint = question(nearest(said["said"], [str(each) for each in choices]))
    if not hint:
        return problem
    said_more = f"{problem.message.rstrip('.')}. {hint}"
    return click.BadParameter(said_more, problem.ctx, problem.param, problem.param_hint)
