"""Whose folder a data dir is: a fleet goes on only where the same fleet was."""

import json
from pathlib import Path

from bigfleet.shard.epoch import StartRefused
from bigfleet.up.plans import Plan
from bigfleet.up.sizes import SIZES

FLEET_FILE = "fleet.json"


def claim(folder: Path, plan: Plan) -> None:
    """Writes down which fleet lives here; raises StartRefused where another one does."""
    told = folder / FLEET_FILE
    wanted = {"machines": plan.machines, "seed": plan.seed}
    if not told.exists():
        told.write_text(json.dumps(wanted) + "\n")
        return
    try:
        known = json.loads(told.read_text())
        machines, seed = int(known["machines"]), int(known["seed"])
    except (ValueError, KeyError, TypeError) as problem:
        raise StartRefused(f"{told} cannot be read: {problem}; name another --data-dir") from None
    if (machines, seed) == (plan.machines, plan.seed):
        return
    size = next((name for name, count in SIZES.items() if count == machines), str(machines))
    raise StartRefused(
        f"{folder} holds a fleet of --size {size} and --seed {seed}; "
        "start it with these, or name another --data-dir"
    )
