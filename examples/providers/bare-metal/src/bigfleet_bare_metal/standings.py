"""Where hosts stand, as survey and inspect hooks print it."""

from dataclasses import dataclass
from typing import Literal


class Unreadable(Exception):
    """A hook printed something else than it should."""


@dataclass(frozen=True, slots=True)
class Standing:
    power: Literal["up", "down"]
    #: The cluster the host serves, empty if none.
    cluster: str = ""


UP = Standing("up")
DOWN = Standing("down")


def standing_of(words: list[str]) -> Standing:
    match words:
        case ["up"]:
            return UP
        case ["down"]:
            return DOWN
        case ["bound", cluster]:
            return Standing("up", cluster)
        case _:
            text = " ".join(words)
            raise Unreadable(f"expected `up`, `down` or `bound CLUSTER`, saw {text!r}")


def standings_of(text: str) -> dict[str, Standing]:
    """Host name -> standing; a host that is not named is not known about."""
    standings = {}
    for line in text.splitlines():
        if words := line.split():
            standings[words[0]] = standing_of(words[1:])
    return standings
