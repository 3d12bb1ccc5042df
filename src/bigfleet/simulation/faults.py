"""What may happen in a scenario: the names under `events` and `faults`, and what each takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from bigfleet.provider.sim.world.verbs import VERBS


@dataclass(frozen=True, slots=True)
class Argument:
    #: text, sentence, number, share, seconds, process, ends, zone, cluster, workload or shard.
    kind: str
    default: object = None

    @property
    def required(self) -> bool:
        return self.default is None


@dataclass(frozen=True, slots=True)
class Deed:
    about: str
    arguments: Mapping[str, Argument]


_BETWEEN = Argument("ends")
#: Done at a time, and not undone by itself.
EVENTS: Mapping[str, Deed] = {
    "zone-loss": Deed(
        "All machines of a zone fail, and none can be made.", {"zone": Argument("zone")}
    ),
    "zone-return": Deed("The zone is back.", {"zone": Argument("zone")}),
    "demand": Deed(
        "Workloads have so many times their usual units.",
        {
            "scale": Argument("number"),
            "cluster": Argument("cluster", ""),
            "workload": Argument("workload", ""),
        },
    ),
    "move-zone": Deed(
        "Another shard is to own the machines of a zone.",
        {"zone": Argument("zone"), "shard": Argument("shard")},
    ),
    "pause": Deed("A shard starts nothing.", {"shard": Argument("shard", "")}),
    "resume": Deed("It goes on.", {"shard": Argument("shard", "")}),
    "restart": Deed("A process ends and starts again.", {"process": Argument("process")}),
    "say": Deed("A line of the story.", {"text": Argument("sentence")}),
}
#: Begun at a time and undone at the end of it.
FAULTS: Mapping[str, Deed] = {
    "kill": Deed(
        "A process is gone; it comes back at the end, without its disk where `disk: lost`.",
        {"process": Argument("process"), "disk": Argument("text", "kept")},
    ),
    "partition": Deed("Nothing passes between two processes.", {"between": _BETWEEN}),
    "delay": Deed(
        "Everything between two processes takes up to so much longer.",
        {"between": _BETWEEN, "seconds": Argument("seconds", 2.0)},
    ),
    "drop": Deed(
        "Calls between two processes are lost by chance.",
        {"between": _BETWEEN, "probability": Argument("share", 0.3)},
    ),
    "duplicate": Deed(
        "Calls between two processes arrive twice by chance.",
        {"between": _BETWEEN, "probability": Argument("share", 0.3)},
    ),
    "reorder": Deed(
        "Calls between two processes overtake each other.",
        {"between": _BETWEEN, "seconds": Argument("seconds", 5.0)},
    ),
    "slow-consumer": Deed("An operator reads nothing.", {"cluster": Argument("cluster")}),
    "rollup-empty": Deed("An operator says it needs nothing.", {"cluster": Argument("cluster")}),
    "disk-full": Deed("A shard's disk takes nothing.", {"shard": Argument("shard", "")}),
    "outage": Deed("The provider's API is unavailable.", {}),
    "list-empty": Deed("Lists are empty.", {}),
    "list-truncate": Deed("Lists show only a part.", {"fraction": Argument("share", 0.5)}),
    "list-stale": Deed("Lists stand still.", {}),
    "list-bad-record": Deed("Lists hold a bad record.", {"field": Argument("text", "id")}),
    "list-duplicate": Deed("Lists name a machine twice.", {}),
    "rpc-error": Deed(
        "Calls of a method fail by chance.",
        {
            "method": Argument("text", "Configure"),
            "code": Argument("text", "UNAVAILABLE"),
            "p": Argument("share", 0.5),
        },
    ),
    "stock": Deed(
        "Pools can carry so many machines only.",
        {"select": Argument("text"), "value": Argument("text", "0")},
    ),
    "hold": Deed(
        "Steps of the provider do not end.",
        {"kind": Argument("text", "all"), "select": Argument("text", "")},
    ),
    "zone-loss": Deed("A zone is gone, and comes back.", {"zone": Argument("zone")}),
}
#: Keys of the file format that are not simulated.
NOT_YET_KEYS: Mapping[str, str] = {
    "archetypes": "write each workload under workloads",
    "buffers": "write a workload of a low priority that holds the room",
    "provisioningRequests": "write a workload with a gang and a curve of steps",
}
#: Deeds of the file format that are not simulated.
NOT_YET: Mapping[str, str] = {
    "workload-add": "start the workload with a curve of steps instead",
    "workload-remove": "end the workload with a step to 0 instead",
    "cluster-join": "give the cluster no workload before that time instead",
    "cluster-leave": "kill its operator and end its workloads instead",
    "priority": "give two workloads, one with each priority",
    "option": "write settings: at the top of the file",
    "clock-skew": "clocks are right in this version",
    "zombie-shard": "cut a shard off with partition and restart it; its old calls arrive late",
    "rpc-delay": "write delay between shard and provider",
    "interrupt": "it is an event",
}
#: Verbs of the simulated provider that are events.
PROVIDER_VERBS = tuple(name for name, verb in VERBS.items() if not verb.outside and name != "state")
#: Faults a drawn schedule may choose from.
DRAWN = (
    "kill",
    "partition",
    "delay",
    "drop",
    "duplicate",
    "reorder",
    "slow-consumer",
    "rollup-empty",
    "disk-full",
    "outage",
    "list-empty",
    "list-truncate",
    "list-stale",
    "list-duplicate",
    "rpc-error",
    "stock",
    "hold",
    "zone-loss",
)
