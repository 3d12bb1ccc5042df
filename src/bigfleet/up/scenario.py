"""What people may do with the fleet of `up`: the tour, demand, faults; and all of it as one object.

Nothing here knows how it is shown: a page asks for the object and hands on what people want.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.sim.demand import LARGEST_FACTOR
from bigfleet.up.chaos import Chaos, RunningFault
from bigfleet.up.faults import (
    LONGEST_SECONDS,
    NOT_HERE,
    Argument,
    Fault,
    fault_named,
    faults_of,
)
from bigfleet.up.fleet_watch import FleetWatch
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.plans import FASTEST, SLOWEST, why_no_tour
from bigfleet.up.tour.beats import beats_of
from bigfleet.up.tour.driver import TourDriver
from bigfleet.up.tour.tour import DWELL_SECONDS, Tour, TourCommand

REAL = ("the engine", "the shard", "the coordinator", "the journal", "the protocols between them")
SIMULATED = ("machines", "prices", "latencies", "pods and their scheduler")
_FACTOR_STEP = 0.1
_END, _SPEED = "end", "speed"


class Scenario:
    def __init__(
        self,
        fleet: LocalFleet,
        clock: Clock,
        log: Log,
        watch: FleetWatch,
        dwell_seconds: float = DWELL_SECONDS,
    ) -> None:
        """`clock` is real; `dwell_seconds`: how long a tour that plays by itself rests."""
        self._fleet = fleet
        self._watch = watch
        self._listeners: list[Callable[[], None]] = []
        self._began = clock.now()
        self.why_no_tour = why_no_tour(fleet.plan)
        self._faults = faults_of(fleet.plan.clusters)
        self.chaos = Chaos(fleet, log, self._changed)
        self.driver: TourDriver | None = None
        if not self.why_no_tour:
            tour = Tour(beats_of(fleet.plan), dwell_seconds=dwell_seconds)
            self.driver = TourDriver(fleet, tour, clock, self._changed)

    def listen(self, listener: Callable[[], None]) -> None:
        """It hears that `document` may be another one."""
        self._listeners.append(listener)

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()

    async def close(self) -> None:
        await self.chaos.close()

    # -- what people want ------------------------------------------------------------------------

    def command(self, name: str, beat: int | None = None) -> None:
        """Of the tour; `beat`: its number, from 1. Raises Rejected."""
        driver = self.driver
        if driver is None:
            raise Rejected(Code.FAILED_PRECONDITION, self.why_no_tour)
        if name not in list(TourCommand):
            known = ", ".join(TourCommand)
            raise Rejected(Code.INVALID_ARGUMENT, f"{name[:80]!r} is not one of {known}")
        if beat is not None and not 1 <= beat <= len(driver.tour.beats):
            text = f"beat {beat}: there are 1 to {len(driver.tour.beats)}"
            raise Rejected(Code.INVALID_ARGUMENT, text)
        driver.command(TourCommand(name), None if beat is None else beat - 1)
        self._changed()

    async def do(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Begins a fault, ends one by its number, or changes the speed; what was done. Raises
        Rejected."""
        arguments = dict(given)
        if arguments.get("do") == _SPEED:
            return self._set_speed(arguments.get(_SPEED))
        if _END in arguments:
            number = arguments[_END]
            if not isinstance(number, int):
                raise Rejected(Code.INVALID_ARGUMENT, "end: write the number of a running fault")
            self.chaos.end(number)
            return {"ended": number}
        fault = fault_named(str(arguments.pop("do", "")), self._faults)
        seconds = fault.lasting(arguments.pop("seconds", None))
        running = await self.chaos.begin(fault, fault.checked(arguments), seconds)
        return self._running(running)

    def _set_speed(self, given: object) -> dict[str, Any]:
        if (
            not isinstance(given, int | float)
            or isinstance(given, bool)
            or not SLOWEST <= given <= FASTEST
        ):
            text = f"speed: write a number from {SLOWEST:g} to {FASTEST:g}"
            raise Rejected(Code.INVALID_ARGUMENT, text)
        self._fleet.set_speed(float(given))
        self._changed()
        return {"speed": self._fleet.plan.speed}

    def set_demand(self, cluster: str, name: str, factor: float) -> dict[str, Any]:
        """The factor of a class of work; raises Rejected."""
        try:
            self._fleet.clusters.set_factor(cluster, name, factor)
        except ValueError as problem:
            raise Rejected(Code.INVALID_ARGUMENT, str(problem)) from None
        self._changed()
        return next(
            row for row in self._demand() if (row["cluster"], row["class"]) == (cluster, name)
        )

    # -- what is shown ---------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        fleet = self._fleet
        simulated = fleet.plan.simulated
        return {
            "tour": self._tour(),
            "clock": {
                "speed": fleet.plan.speed,
                "slowest": SLOWEST,
                "fastest": FASTEST,
                "simulatedUnixNanos": fleet.clock.now(),
                "beganUnixNanos": self._began,
                "scriptSeconds": round(fleet.clusters.seconds, 1),
                "scriptStands": fleet.clusters.demand.is_guided,
            },
            "controls": {
                "demand": self._demand(),
                "faults": [_fault(each) for each in self._faults.values()],
                "running": [self._running(each) for each in self.chaos.running.values()],
                "notHere": [{"do": name, "why": why} for name, why in NOT_HERE.items()],
            },
            "assertions": [
                {"name": name, "holds": not found, "findings": found[-20:]}
                for name, found in self._watch.assertions.items()
            ],
            "down": sorted(fleet.down),
            "real": list(REAL),
            "simulated": list(SIMULATED[0 if simulated else 3 :]),
        }

    def _tour(self) -> dict[str, Any]:
        if self.driver is None:
            return {"available": False, "why": self.why_no_tour}
        tour = self.driver.tour
        record = tour.records[tour.place]
        return {
            "available": True,
            "status": tour.status.value,
            "playsOn": tour.plays_on,
            "playsAtUnixNanos": tour.plays_at,
            "beat": tour.place + 1,
            "waitsUntil": tour.waits_until,
            "sentence": record.sentence,
            "beats": beat_documents(tour),
        }

    def _demand(self) -> list[dict[str, Any]]:
        demand = self._fleet.clusters.demand
        guided = demand.is_guided
        priorities = {(cluster, name): p for (cluster, p), name in demand.classes.items()}
        return [
            {
                "cluster": cluster,
                "class": name,
                "priority": priorities[cluster, name],
                "factor": factor,
                "least": 0.0,
                "most": LARGEST_FACTOR,
                "step": _FACTOR_STEP,
                "applies": "when the tour is left or has ended" if guided else "now",
            }
            for (cluster, name), factor in demand.factors.items()
        ]

    def _running(self, running: RunningFault) -> dict[str, Any]:
        return {
            "number": running.number,
            "do": running.fault.name,
            "text": running.text,
            "arguments": running.arguments,
            "endsAtUnixNanos": self._fleet.times.real_of(running.ends_at),
            "endsEarly": running.fault.ends_early,
        }


def beat_documents(tour: Tour) -> list[dict[str, Any]]:
    return [beat_document(tour, place) for place in range(len(tour.beats))]


def beat_document(tour: Tour, place: int) -> dict[str, Any]:
    beat, record = tour.beats[place], tour.records[place]
    return {
        "number": place + 1,
        "name": beat.name,
        "title": beat.title,
        "about": beat.about,
        "status": record.status.value,
        "sentence": record.sentence,
        "simulatedSeconds": round(record.seconds, 1),
    }


def _fault(fault: Fault) -> dict[str, Any]:
    lasts = fault.seconds is not None
    return {
        "do": fault.name,
        "title": fault.title,
        "about": fault.about,
        "arguments": [_argument(each) for each in fault.arguments],
        "seconds": {"default": fault.seconds, "least": 1, "most": LONGEST_SECONDS}
        if lasts
        else None,
    }


def _argument(argument: Argument) -> dict[str, Any]:
    is_number = argument.least is not None
    return {
        "name": argument.name,
        "about": argument.about,
        "default": float(argument.default) if is_number else argument.default,
        "choices": list(argument.choices),
        "least": argument.least,
        "most": argument.most,
    }
