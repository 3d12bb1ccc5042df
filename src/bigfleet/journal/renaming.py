"""New names for texts, which compare as the old ones do.

Decisions break ties by the order of texts: of ids, of clusters, and of fingerprints, in which keys
and values stand one after the other with a separator between them. So a new name keeps three things
of the old one: its place among all others, which of the others it begins with, and on which side of
the separators the next character lies. Nothing else is kept, neither its length nor its characters.

A kept text stays as it is. What begins like a kept text begins like it afterwards.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise

#: What follows a key or a value in a fingerprint.
_SEPARATORS = ",:;|"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def names_by_rank(texts: Collection[str], kept: Collection[str] = ()) -> dict[str, str]:
    """The new name of each text; equal sets of texts get equal names."""
    ordered = sorted({*texts})
    places = [place for place, text in enumerate(ordered) if text in kept]
    names: dict[str, str] = {}
    # Texts from `start` to `end` share their first `depth` characters, which are called `name`.
    waiting = [(0, len(ordered), 0, "")]
    while waiting:
        start, end, depth, name = waiting.pop()
        if start == end:
            continue
        shared = _shared_length(ordered[start], ordered[end - 1])
        if _any_between(places, start, end):
            name += ordered[start][depth:shared]
        ends_here = len(ordered[start]) == shared
        if ends_here:
            names[ordered[start]] = name
            start += 1
        branches = list(_branches(ordered, start, end, shared))
        firm = [char for char, low, high in branches if _any_between(places, low, high)]
        tokens = _tokens([char for char, _, _ in branches], firm, ends_here=ends_here)
        for char, low, high in branches:
            waiting.append((low, high, shared + 1, name + tokens[char]))
    return names


def _branches(
    ordered: Sequence[str], start: int, end: int, depth: int
) -> Iterator[tuple[str, int, int]]:
    """Runs of texts by the character at `depth`."""
    for char, run in groupby(range(start, end), key=lambda place: ordered[place][depth]):
        places = list(run)
        yield char, places[0], places[-1] + 1


def _tokens(chars: Sequence[str], firm: Sequence[str], *, ends_here: bool) -> dict[str, str]:
    """What stands for each character: in the same order, and firm ones for themselves."""
    fixed = sorted({*firm, *(_SEPARATORS if ends_here else "")})
    tokens = {char: char for char in chars if char in fixed}
    edges = ["", *fixed, ""]
    for low, high in pairwise(edges):
        between = [char for char in chars if low < char and (not high or char < high)]
        head = _char_between(low, high) if fixed else ""
        tokens |= zip(between, _equally_long(len(between), head), strict=True)
    return tokens


def _equally_long(count: int, head: str) -> list[str]:
    """So many texts, ascending, of which none begins with another."""
    width = 0 if head else 1
    while len(_LETTERS) ** width < count:
        width += 1
    return [head + _letters(number, width) for number in range(count)]


def _letters(number: int, width: int) -> str:
    letters = ""
    for _ in range(width):
        number, digit = divmod(number, len(_LETTERS))
        letters = _LETTERS[digit] + letters
    return letters


def _char_between(low: str, high: str) -> str:
    """A letter if there is one, then a digit, then the neighbour of an edge ("": no edge)."""
    for char in _LETTERS + "0123456789":
        if low < char and (not high or char < high):
            return char
    return chr(ord(low) + 1) if low else chr(ord(high) - 1)


def _shared_length(first: str, last: str) -> int:
    length = 0
    for mine, other in zip(first, last, strict=False):
        if mine != other:
            break
        length += 1
    return length


def _any_between(places: Sequence[int], start: int, end: int) -> bool:
    found = bisect_left(places, start)
    return found < len(places) and places[found] < end
