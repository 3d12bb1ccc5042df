"""Smaller: the least part of a failing fleet that still fails, for a person to read."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from bigfleet.model.fleet import Fleet
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions


def smallest(fleet: Fleet, fails: Callable[[Fleet], bool]) -> Fleet:
    """Leaves out machines, needs and memory one by one until nothing more can go."""
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in one_thing_less(fleet):
            if fails(candidate):
                fleet, shrunk = candidate, True
                break
    return fleet


def one_thing_less(fleet: Fleet) -> Iterator[Fleet]:
    for number in reversed(range(len(fleet.machines))):
        yield replace(fleet, machines=fleet.machines[:number] + fleet.machines[number + 1 :])
    for number in reversed(range(len(fleet.needs))):
        yield replace(fleet, needs=fleet.needs[:number] + fleet.needs[number + 1 :])
    memory = fleet.memory
    if memory != EngineMemory():
        yield replace(fleet, memory=EngineMemory())
    for name in memory.reservations:
        rest = {k: v for k, v in memory.reservations.items() if k != name}
        yield replace(fleet, memory=replace(memory, reservations=rest))
    if memory.parking:
        yield replace(fleet, memory=replace(memory, parking={}))
    if memory.shortfalls:
        yield replace(fleet, memory=replace(memory, shortfalls={}))
    if fleet.options != EngineOptions():
        yield replace(fleet, options=EngineOptions())
