"""Machines whose fate an overlay changes: those that it takes away, and those that the two
decisions treat differently."""

from bigfleet.model.what_if import Fate
from bigfleet.whatif.comparing import DecidedSide

#: Ids of one answer: half a megabyte.
MOST_IDS = 20_000
_NOTHING = ("", "")


def fates_of(base: DecidedSide, changed: DecidedSide, most: int = MOST_IDS) -> tuple[Fate, ...]:
    """The largest group first."""
    before, after = base.acts(), changed.acts()
    removed = set(base.given.snapshot.ids).difference(changed.given.snapshot.ids)
    groups: dict[tuple[bool, str, str, str, str], list[str]] = {}
    for machine in sorted({*before, *after, *removed}):
        was, then = before.get(machine, _NOTHING), after.get(machine, _NOTHING)
        if machine in removed or was != then:
            groups.setdefault((machine in removed, *was, *then), []).append(machine)
    found, left = list[Fate](), most
    # The smallest first: a zone that is lost must not leave the few that are preempted nameless.
    for key, machines in sorted(groups.items(), key=lambda each: (len(each[1]), each[0])):
        named = tuple(machines[:left])
        left -= len(named)
        found.append(Fate(*key, len(machines), named))
    return tuple(reversed(found))
