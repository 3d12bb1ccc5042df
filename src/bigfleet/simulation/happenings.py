"""Carries out the events and faults of a scenario, and draws those of its chaos."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING

from bigfleet.provider.sim.world.verbs import command_of_mapping
from bigfleet.simulation.coordinator import END as COORDINATOR
from bigfleet.simulation.expressions import Sentence
from bigfleet.simulation.faults import PROVIDER_VERBS
from bigfleet.simulation.scenario import PROVIDER, Chaos, Happening, Scenario

if TYPE_CHECKING:
    from bigfleet.simulation.simulator import Simulator

Undo = Callable[[], None]
#: A process that is restarted is away for so long.
_RESTART_SECONDS = 3.0
_LISTS = ("list-empty", "list-truncate", "list-stale", "list-bad-record", "list-duplicate")


class Happenings:
    def __init__(self, simulator: "Simulator") -> None:
        self._sim = simulator
        #: What was done when, for the report.
        self.told: list[tuple[float, str]] = []

    def do(self, happening: Happening) -> None:
        sim = self._sim
        text = f"{happening.do} {self._shown(happening.arguments)}".strip()
        self.told.append((round(sim.schedule.seconds, 3), text))
        sim.note(f"event {text}")
        if happening.seconds is None:
            self._event(happening)
            sim.judge.happened(happening.name, sim.schedule.seconds)
            return
        undo = self._fault(happening.do, happening.arguments)
        sim.schedule.call_later(happening.seconds, lambda: self._undo(text, undo))

    def _undo(self, text: str, undo: Undo) -> None:
        self._sim.note(f"over {text}")
        undo()

    def _shown(self, arguments: Mapping[str, object]) -> str:
        words = []
        for key, value in sorted(arguments.items()):
            if isinstance(value, Sentence):
                words.append(value.told(self._sim.figures.ask))
            elif value not in ("", None):
                shown = " and ".join(map(str, value)) if isinstance(value, tuple) else value
                words.append(f"{key}={shown}")
        return " ".join(words)

    # -- events ----------------------------------------------------------------------------------

    def _event(self, happening: Happening) -> None:
        sim, given = self._sim, happening.arguments
        match happening.do:
            case "zone-loss":
                sim.provider.lose_zone(str(given["zone"]))
            case "zone-return":
                sim.provider.return_zone(str(given["zone"]))
            case "demand":
                factor = given["scale"]
                assert isinstance(factor, float | int)
                sim.scale(str(given["workload"]), str(given["cluster"]), float(factor))
            case "move-zone":
                assert sim.coordinator is not None, "the file is refused"
                sim.coordinator.move_zone(str(given["zone"]), str(given["shard"]))
            case "pause" | "resume":
                text = "the scenario pauses it" if happening.do == "pause" else None
                for name in self._shards_named(str(given["shard"])):
                    sim.disks[name].pause(text)
            case "restart":
                undo = self._kill(str(given["process"]), "kept")
                sim.schedule.call_later(_RESTART_SECONDS, undo)
            case "say":
                """It stands in the report."""
            case verb if verb in PROVIDER_VERBS:
                if problem := sim.provider.command(command_of_mapping(verb, given)):
                    sim.note(f"refused {verb}: {problem}")

    def _shards_named(self, name: str) -> tuple[str, ...]:
        return (name,) if name else tuple(self._sim.disks)

    # -- faults ----------------------------------------------------------------------------------

    def _fault(self, do: str, given: Mapping[str, object]) -> Undo:
        sim = self._sim
        if do in _LISTS:
            how = do.removeprefix("list-")
            more = {key: value for key, value in given.items() if key in ("fraction", "field")}
            sim.provider.answer_lists(how, **more)
            return lambda: sim.provider.answer_truly(how)
        match do:
            case "kill":
                return self._kill(str(given["process"]), str(given.get("disk", "kept")))
            case "partition":
                one, other = _ends(given)
                sim.network.cut(one, other)
                return lambda: sim.network.mend(one, other)
            case "delay" | "drop" | "duplicate" | "reorder":
                return self._slow(do, given)
            case "slow-consumer":
                line = sim.clusters[str(given["cluster"])]
                line.is_reading = False
                return line.resume_reading
            case "rollup-empty":
                told = sim.clusters[str(given["cluster"])]
                told.tells_nothing = True
                return lambda: setattr(told, "tells_nothing", False)
            case "disk-full":
                names = self._shards_named(str(given["shard"]))
                self._fill(names, full=True)
                return lambda: self._fill(names, full=False)
            case "zone-loss":
                zone = str(given["zone"])
                sim.provider.lose_zone(zone)
                return lambda: sim.provider.return_zone(zone)
            case _:
                return self._verb(do, given)

    def _fill(self, shards: tuple[str, ...], *, full: bool) -> None:
        for name in shards:
            self._sim.disks[name].fill(full=full)

    def _slow(self, do: str, given: Mapping[str, object]) -> Undo:
        faults = self._sim.network.faults(*_ends(given))
        amount = given["probability" if do in ("drop", "duplicate") else "seconds"]
        assert isinstance(amount, float | int)
        value = float(amount)
        match do:
            case "delay":
                faults.delays.append((0.0, value))
                return lambda: faults.delays.remove((0.0, value))
            case "drop":
                faults.drops.append(value)
                return lambda: faults.drops.remove(value)
            case "duplicate":
                faults.duplicates.append(value)
                return lambda: faults.duplicates.remove(value)
            case _:
                faults.reorders.append(value)
                return lambda: faults.reorders.remove(value)

    def _verb(self, do: str, given: Mapping[str, object]) -> Undo:
        """Verbs of the provider that have an opposite."""
        provider = self._sim.provider

        def say(verb: str, **arguments: object) -> None:
            if problem := provider.command(command_of_mapping(verb, arguments)):
                self._sim.note(f"refused {verb}: {problem}")

        match do:
            case "outage":
                say("outage", switch="on")
                return lambda: say("outage", switch="off")
            case "rpc-error":
                say("rpc-error", **given)
                return lambda: say("rpc-error", method=given["method"], code="OK", p=0)
            case "stock":
                say("stock", **given)
                return provider.restock
            case _:
                say("hold", **{key: value for key, value in given.items() if value})
                return lambda: say("release", **{k: v for k, v in given.items() if v})

    def _kill(self, process: str, disk: str) -> Undo:
        sim = self._sim
        kind, _, name = process.partition("/")
        match kind:
            case "shard":
                sim.crash_shard(name)
                if disk == "lost":
                    sim.disks[name].lose()
                return lambda: None if name in sim.shards else sim.start_shard(name)
            case "operator":
                line = sim.clusters[name]
                if line.is_up:
                    line.kill()
                return lambda: None if line.is_up else line.restart()
            case "coordinator":
                coordinator = sim.coordinator
                assert coordinator is not None, "the file is refused"
                coordinator.kill()
                return lambda: None if coordinator.is_up else coordinator.restart()
            case _:
                sim.provider.is_up = False
                return lambda: setattr(sim.provider, "is_up", True)


def drawn(chaos: Chaos, scenario: Scenario, chance: Random) -> Iterator[Happening]:
    """A schedule of faults; another seed draws another one."""
    at = chaos.begins
    while chaos.per_minute > 0:
        at += chance.expovariate(chaos.per_minute / 60.0)
        if at >= chaos.ends:
            return
        do = chance.choice(chaos.do)
        # Nothing reaches into the time in which all has to come to rest.
        seconds = min(chance.uniform(*chaos.seconds), chaos.ends - at)
        yield Happening(at, do, _drawn_arguments(do, scenario, chance), seconds, do)


def _drawn_arguments(do: str, scenario: Scenario, chance: Random) -> Mapping[str, object]:
    clusters = scenario.clusters
    shard = f"shard-{chance.randrange(scenario.shards)}"
    cluster, zone = chance.choice(clusters), chance.choice(_zones(scenario))
    match do:
        case "kill":
            coordinators = (COORDINATOR,) if scenario.shards > 1 else ()
            process = chance.choice(
                (f"shard/{shard}", f"operator/{cluster}", f"provider/{PROVIDER}", *coordinators)
            )
            return {"process": process, "disk": "lost" if chance.random() < 0.2 else "kept"}
        case "partition" | "delay" | "drop" | "duplicate" | "reorder":
            ends = _drawn_ends(scenario, cluster, shard, chance)
            if do in ("drop", "duplicate"):
                return {"between": ends, "probability": round(chance.uniform(0.05, 0.9), 3)}
            return {"between": ends, "seconds": round(chance.uniform(0.1, 20.0), 3)}
        case "slow-consumer" | "rollup-empty":
            return {"cluster": cluster}
        case "disk-full":
            return {"shard": shard}
        case "list-truncate":
            return {"fraction": round(chance.random(), 3)}
        case "rpc-error":
            method = chance.choice(("Create", "Configure", "Drain", "Delete", "Get", "List"))
            code = chance.choice(("UNAVAILABLE", "INTERNAL", "DEADLINE_EXCEEDED", "ABORTED"))
            return {"method": method, "code": code, "p": round(chance.uniform(0.1, 1.0), 3)}
        case "stock":
            return {"select": f"zone={zone}", "value": "0"}
        case "hold":
            return {"kind": chance.choice(("create", "configure", "drain", "delete")), "select": ""}
        case "zone-loss":
            return {"zone": zone}
        case _:
            return {}


def _drawn_ends(scenario: Scenario, cluster: str, shard: str, chance: Random) -> tuple[str, str]:
    """A cluster and its shard, or a shard and what it calls."""
    others = (f"operator/{cluster}", f"provider/{PROVIDER}")
    other = chance.choice((*others, COORDINATOR) if scenario.shards > 1 else others)
    if other == others[0]:
        return other, f"shard/{scenario.shard_of_cluster[cluster]}"
    return other, f"shard/{shard}"


def _zones(scenario: Scenario) -> list[str]:
    return sorted({each.machine.zone for each in scenario.supply.machines})


def _ends(given: Mapping[str, object]) -> tuple[str, str]:
    between = given["between"]
    assert isinstance(between, tuple)
    return between[0], between[1]
