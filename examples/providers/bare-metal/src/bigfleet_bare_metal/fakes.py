"""Hosts that are files in a folder, acted on by real hook commands: for tests and for a first look.

Without a folder every host is up and the world ends with the process. With one, it outlives the
process, and every host is down until it is created.
"""

import tempfile
from pathlib import Path

from bigfleet_bare_metal.racks import Hook, Hooks, HostType, RackedHost, Racks

_SCRIPT = Path(__file__).with_name("fake-host.sh")
_RACK_HEIGHT = 20
_ZONES = ("hall-a", "hall-b", "hall-c")


def fake_racks(count: int, world: str) -> Racks:
    folder = Path(world) if world else Path(tempfile.mkdtemp(prefix="bigfleet-racks-"))
    hosts = tuple(_host(number) for number in range(count))
    _build(folder, hosts, up=not world)

    def hook(verb: str) -> Hook:
        return Hook(("sh", str(_SCRIPT), str(folder), verb), timeout_seconds=10.0)

    return Racks(
        hooks=Hooks(
            configure=hook("configure"),
            drain=hook("drain"),
            ready=hook("ready"),
            create=hook("create") if world else None,
            reset=hook("reset"),
            inspect=hook("inspect"),
            survey=hook("survey"),
            ready_poll_seconds=0.05,
        ),
        types={"metal-64": _SHAPE},
        hosts=hosts,
        region="fake",
    )


_SHAPE = HostType(
    resources={"cpu": "63", "memory": "248Gi"}, allocatable={"cpu": "63500m", "memory": "250Gi"}
)


def _host(number: int) -> RackedHost:
    rack, place = divmod(number, _RACK_HEIGHT)
    zone = _ZONES[rack % len(_ZONES)]
    return RackedHost(f"{zone}-r{rack:02}-{place:02}", "metal-64", zone, f"{zone}-r{rack:02}")


def _build(folder: Path, hosts: tuple[RackedHost, ...], *, up: bool) -> None:
    """Makes the files of hosts the folder does not know yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for host in hosts:
        known = folder / f"{host.name}.host"
        if up and not known.exists():
            (folder / f"{host.name}.up").touch()
        known.touch()
