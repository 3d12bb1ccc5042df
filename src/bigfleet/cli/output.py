"""How an answer is printed: -o, --sort-by, --no-headers and --watch, for every verb that reads.

The flags of the running verb are kept in click's context, so that tables and documents are written
in the form the user asked for without passing it through every function.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Any

import click
from click.shell_completion import CompletionItem

from bigfleet.cli.durations import DURATION

#: table and wide are for people, the others for programs.
FORMATS = ("table", "wide", "json", "yaml", "csv", "name")
#: Of an answer that is not a list.
DOCUMENT_FORMATS = ("table", "json", "yaml")
_META = "bigfleet.output"
_COLUMNS = "bigfleet_columns"
_ONCE = "bigfleet_answers_once"
WATCH_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Output:
    format: str = "table"
    #: A column or a field of the JSON document; a leading `-` sorts the other way round.
    sort_by: str = ""
    headers: bool = True
    #: One document a line, where answers follow each other.
    one_line: bool = False

    @property
    def is_document(self) -> bool:
        return self.format in ("json", "yaml")


def current_output() -> Output:
    """Of the verb that runs."""
    context = click.get_current_context(silent=True)
    found = context.meta.get(_META) if context else None
    return found if isinstance(found, Output) else Output()


def set_output(output: Output) -> None:
    click.get_current_context().meta[_META] = output


# -- flags -----------------------------------------------------------------------------------------


class DocumentForm(click.Choice[str]):
    def __init__(self) -> None:
        super().__init__(DOCUMENT_FORMATS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in FORMATS and value not in self.choices:
            self.fail(
                f"{value} is a form of lists, and this answer is not a list; "
                "write table, json or yaml",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def list_form(text: str = "How the list is printed.") -> Callable[[Any], Any]:
    """The flag -o of a verb that answers with a list."""
    return _form(click.Choice(FORMATS), text)


def document_form(text: str = "How the answer is printed.") -> Callable[[Any], Any]:
    """The flag -o of a verb whose answer is not a list; it refuses the forms of lists."""
    return _form(DocumentForm(), text)


def _form(choice: click.Choice[str], text: str) -> Callable[[Any], Any]:
    return click.option(
        "-o", "--output", type=choice, default="table", show_default=True, help=text
    )


def prints_list(
    columns: Callable[[], Iterable[str]],
    text: str = "How the list is printed.",
    *,
    one_line: bool = False,
) -> Callable[[Any], Any]:
    """-o, --sort-by and --no-headers for a verb that asks no server, so that nothing is watched.

    `one_line`: several documents may follow each other, one a line.
    """

    def decorate(command: Any) -> Any:
        run = shows(columns)(_in_form(command, one_line))
        return list_form(text)(_sort_by(run)(_no_headers(run)))

    return decorate


def prints_document(text: str = "How the answer is printed.") -> Callable[[Any], Any]:
    """-o for a verb that asks no server and whose answer is not a list."""
    return lambda command: document_form(text)(_in_form(command))


def _in_form(command: Any, one_line: bool = False) -> Any:
    @wraps(command)
    def run(*given: Any, **flags: Any) -> None:
        form = flags.pop("output")
        answer(form, flags, lambda: command(*given, **flags), one_line=one_line)

    return run


def shows(columns: Callable[[], Iterable[str]]) -> Callable[[Any], Any]:
    """Names the columns of a verb, so that a shell completes --sort-by.

    Called when a shell asks: what declares the columns is imported then.
    """

    def decorate(command: Any) -> Any:
        setattr(command, _COLUMNS, columns)
        return command

    return decorate


def answers_once(command: Any) -> Any:
    """For a verb that reads but prints no list, such as one that writes a file."""
    setattr(command, _ONCE, True)
    return command


def reading_options(command: Any) -> Any:
    """Adds the flags to a verb that reads; a verb that requires --reason changes something."""
    params = getattr(command, "__click_params__", [])
    changes = any(param.name == "reason" and param.required for param in params)
    if changes or getattr(command, _ONCE, False):
        return command
    return _sort_by(command)(_no_headers(_watch(command)))


def _sort_by(command: Any) -> Callable[[Any], Any]:
    columns: Callable[[], Iterable[str]] = getattr(command, _COLUMNS, tuple)

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in columns() if name.startswith(begun.upper())]

    return click.option(
        "--sort-by",
        default="",
        metavar="COLUMN",
        shell_complete=complete,
        help="Sort by a column or a JSON field; -COLUMN: the other way round.",
    )


_no_headers = click.option("--no-headers", is_flag=True, help="Tables and CSV without headings.")
_watch = click.option(
    "-w",
    "--watch",
    type=DURATION,
    is_flag=False,
    flag_value=f"{WATCH_SECONDS:g}s",
    default=None,
    metavar="[INTERVAL]",
    help=f"Ask again and again until Ctrl-C.  [interval: {WATCH_SECONDS:g}s]",
)
_WATCH_FLAGS = ("-w", "--watch")


def with_watch_interval(words: Sequence[str]) -> list[str]:
    """`--watch state=idle`: the word after --watch is only taken for an interval if it is one."""
    from bigfleet.model.durations import seconds_of

    result = list(words)
    for place, word in enumerate(result):
        if word == "--":
            break
        follows = result[place + 1] if place + 1 < len(result) else ""
        if word in _WATCH_FLAGS and follows and seconds_of(follows) is None:
            result[place] = f"--watch={WATCH_SECONDS:g}s"
    return result


def answer(
    output: str, given: dict[str, Any], ask: Callable[[], None], *, one_line: bool = False
) -> None:
    """Runs a verb in the form its flags say; takes those flags out of `given`."""
    interval = given.pop("watch", None)
    wanted = Output(
        output,
        given.pop("sort_by", ""),
        headers=not given.pop("no_headers", False),
        one_line=one_line or interval is not None,
    )
    set_output(wanted)
    if interval is None:
        ask()
        return
    from bigfleet.cli.watch import watch

    watch(ask, interval)


# -- sorting ---------------------------------------------------------------------------------------


def sort_key(value: object) -> tuple[int, float, str]:
    """Numbers by size, then texts; what is empty comes last."""
    if value is None or value in ("", "-"):
        return (2, 0.0, "")
    if isinstance(value, int | float):
        return (0, float(value), "")
    said = str(value)
    number = _number_of(said)
    return (1, 0.0, said.casefold()) if number is None else (0, number, said)


def _number_of(text: str) -> float | None:
    """Of `1,234`, `45s`, `3d`, `$0.50` or `12%`; ages and prices stand in tables as texts."""
    bare = text.replace(",", "").removeprefix("$").removesuffix("%")
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}.get(bare[-1:])
    try:
        return float(bare[:-1]) * unit if unit else float(bare)
    except ValueError:
        return None


def sorted_rows(rows: list[Any], key: Callable[[Any], object], *, descending: bool) -> list[Any]:
    """Rows without a value stay last in both directions."""
    keyed = [(sort_key(key(row)), row) for row in rows]
    known = [pair for pair in keyed if pair[0][0] < 2]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _key, row in known] + [row for key, row in keyed if key[0] == 2]


def field_of(document: object, path: str) -> object:
    """`machine.pricePerHour` of a JSON document; None where there is no such field."""
    found = document
    for name in path.strip(".").split("."):
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found


def has_field(documents: Iterable[object], path: str) -> bool:
    return any(field_of(each, path) is not None for each in documents)


def unknown_sort(name: str, columns: Iterable[str]) -> click.UsageError:
    """The result is to be raised."""
    there = list(columns)
    near = get_close_matches(name.upper(), [each.upper() for each in there], n=1)
    hint = next((each for each in there if near and each.upper() == near[0]), "")
    said = f"did you mean {hint}?" if hint else f"there are {', '.join(there)}"
    return click.UsageError(f"--sort-by {name}: there is no such column; {said}")
