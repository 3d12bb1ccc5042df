"""Whose folder a data dir is: a fleet goes on only where the same fleet was."""

from pathlib import Path
from typing import Any

import orjson

from bigfleet.edge.files import write_whole
from bigfleet.model.errors import StartRefused
from bigfleet.up.plans import FleetPlan
from bigfleet.up.sizes import SIZES

FLEET_FILE = "fleet.json"
_PROVIDER_PORT = "provider_port"
#: What the folder of the only shard was called when a fleet had one.
_ONLY_SHARD = "shard"


def claim(folder: Path, plan: FleetPlan) -> None:
    """Writes down which fleet lives here; raises StartRefused where another one does."""
    known = _read(folder)
    file = plan.file.digest if plan.file is not None else ""
    if known is None:
        _write(folder, {**_numbers(plan), **({"file": file} if file else {})})
        return
    if known.get("file", "") != file:
        text = "the fleet of another fleet file" if known.get("file") else "a fleet of no file"
        raise StartRefused(
            f"{folder} holds {text}; start it with the same --fleet, or name another --data-dir"
        )
    machines, seed, shards = known["machines"], known["seed"], known["shards"]
    if (machines, seed, shards) != (plan.machines, plan.seed, plan.shards):
        size = next((name for name, count in SIZES.items() if count == machines), str(machines))
        raise StartRefused(
            f"{folder} holds a fleet of --size {size}, --seed {seed} and --shards {shards}; "
            "start it with these, or name another --data-dir"
        )
    if (folder / _ONLY_SHARD).is_dir():
        (folder / _ONLY_SHARD).rename(folder / plan.shard_names[0])


def _numbers(plan: FleetPlan) -> dict[str, int]:
    return {"machines": plan.machines, "seed": plan.seed, "shards": plan.shards}


def kept_provider_port(folder: Path) -> int:
    """Where the simulated provider of this fleet was; 0: anywhere.

    Machines that were moved to another shard are known by the address of their provider.
    """
    known = _read(folder)
    return int(known.get(_PROVIDER_PORT, 0)) if known is not None else 0


def keep_provider_port(folder: Path, port: int) -> None:
    _write(folder, {**(_read(folder) or {}), _PROVIDER_PORT: port})


def _read(folder: Path) -> dict[str, Any] | None:
    told = folder / FLEET_FILE
    if not told.exists():
        return None
    try:
        known = orjson.loads(told.read_bytes())
        numbers = {key: int(known[key]) for key in ("machines", "seed")}
        return {**known, **numbers, "shards": int(known.get("shards", 1))}
    except (ValueError, KeyError, TypeError) as problem:
        raise StartRefused(f"{told} cannot be read: {problem}; name another --data-dir") from None


def _write(folder: Path, known: dict[str, Any]) -> None:
    write_whole(folder / FLEET_FILE, orjson.dumps(known) + b"\n")
