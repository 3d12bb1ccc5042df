"""What a fleet or settings file may cost to read, and the checks that need no reading of it.

Files come from strangers. A few bytes can stand for gigabytes (gzip, YAML aliases and merge keys)
or for more nesting than a parser survives; each of these numbers is far above any real file and
far below what harms.
"""

import io
import zlib
from collections.abc import Iterator
from gzip import GzipFile
from typing import Any

import yaml

from bigfleet.model.errors import BadInput, Problem

#: A file, unpacked. 2,000,000 machines as lines of JSON are about 600 MB.
MOST_BYTES = 1 << 30
#: Unpacked bytes per packed byte: lines of JSON reach about 60, a gzip bomb 1,000.
MOST_GZIP_RATIO = 200
#: Below this the ratio does not matter.
SMALL_BYTES = 16 << 20
#: Mappings and lists inside one another; a fleet file has 6.
MOST_DEPTH = 64
#: Characters that YAML aliases may add to a document.
MOST_ALIASED = 4_000_000
#: Digits of a whole number: an instant in nanoseconds has 19.
MOST_DIGITS = 40
#: Machines of one file.
MOST_MACHINES = 4_000_000
#: Dollars an hour of one machine; with more, a fleet's total loses its cents.
MOST_DOLLARS_PER_HOUR = 1e9
#: Dollars of a penalty.
MOST_PENALTY_DOLLARS = 1e15
#: Seconds of a hold, a drain or a margin: 30 years; in nanoseconds it fits 64 bits.
MOST_SECONDS = 1e9
#: A weight of the victim score: the sum of four such terms is still a number.
MOST_WEIGHT = 1e12

#: Tags that mean what the plain value means; others are code for a reader that is not there.
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "map", "seq"))
#: What a node costs beside its text.
_NODE = 8


def refused(text: str) -> BadInput:
    return BadInput([Problem("", text)])


def unpacked(content: bytes) -> bytes:
    """The content of a gzip file; raises BadInput if it is not gzip, or a bomb."""
    most = min(MOST_BYTES, max(SMALL_BYTES, MOST_GZIP_RATIO * len(content)))
    try:
        with GzipFile(fileobj=io.BytesIO(content)) as file:
            plain = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise refused(f"not a gzip file: {error}") from None
    if len(plain) > most:
        raise refused(
            f"{len(content):,} packed bytes unpack to more than {most:,}; unpack the file "
            "yourself if you trust it, or leave machines out"
        )
    return plain


def check_size(content: bytes) -> None:
    if len(content) > MOST_BYTES:
        raise refused(f"larger than {MOST_BYTES:,} bytes; leave machines out")


class TooMuch(yaml.MarkedYAMLError):
    """A YAML document beyond the limits; says where."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


def check_yaml(text: str) -> None:
    """Raises TooMuch, or another yaml.YAMLError, before anything is built from the text."""
    _check_events(yaml.parse(text, Loader=yaml.CSafeLoader))


def _check_events(events: Iterator[yaml.Event]) -> None:
    """Adds up what each anchor stands for, so that an alias costs what it repeats."""
    cost_of_anchor: dict[str, int] = {}
    aliased = 0
    #: For each open mapping or list: its anchor, and its cost so far.
    open_nodes: list[tuple[str | None, int]] = [(None, 0)]
    for event in events:
        cost = 0
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in cost_of_anchor:
                known = any(anchor == event.anchor for anchor, _ in open_nodes)
                why = "it is part of itself" if known else "it is not defined"
                raise TooMuch(f"alias *{event.anchor}: {why}", event.start_mark)
            cost = cost_of_anchor[event.anchor]
            aliased += cost
            if aliased > MOST_ALIASED:
                raise TooMuch(
                    f"aliases repeat more than {MOST_ALIASED:,} characters; write the file out, "
                    "or use count",
                    event.start_mark,
                )
        elif isinstance(event, yaml.CollectionStartEvent):
            _check_tag(event.tag, event.start_mark)
            if len(open_nodes) > MOST_DEPTH:
                raise TooMuch(
                    f"more than {MOST_DEPTH} levels of mappings and lists", event.start_mark
                )
            open_nodes.append((event.anchor, _NODE))
            continue
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, cost = open_nodes.pop()
            if anchor:
                cost_of_anchor[anchor] = cost
        elif isinstance(event, yaml.ScalarEvent):
            _check_tag(event.tag, event.start_mark)
            cost = _NODE + len(event.value)
            if event.anchor:
                cost_of_anchor[event.anchor] = cost
        else:
            continue
        anchor, before = open_nodes[-1]
        open_nodes[-1] = (anchor, before + cost)


def _check_tag(tag: str | None, mark: Any) -> None:
    if tag is not None and tag != "!" and tag not in _PLAIN_TAGS:
        shown = tag.replace("tag:yaml.org,2002:", "!!")
        raise TooMuch(f"tag {shown[:60]} is not read; write the plain value", mark)


def is_too_deep(document: object) -> bool:
    """Whether a document that was read nests deeper than any fleet file; needs no recursion."""
    level: list[object] = [document]
    for _ in range(MOST_DEPTH + 1):
        containers = [each for each in level if type(each) is dict or type(each) is list]
        if not containers:
            return False
        level = []
        for each in containers:
            level += each.values() if type(each) is dict else each
    return True
