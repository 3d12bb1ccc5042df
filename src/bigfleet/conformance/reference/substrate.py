"""A way behind the back of a running reference provider: files in a folder it watches.

`python -m bigfleet.conformance.reference.substrate FOLDER price|vanish ID REF` is a hook command.
"""

import sys
from pathlib import Path

from bigfleet.conformance.pace import Clock
from bigfleet.conformance.reference.provider import Reference


async def watch(provider: Reference, folder: Path, clock: Clock) -> None:
    """Do to the provider what the files say, and take each away when it is done."""
    acts = {"price": provider.price_changed, "vanish": provider.host_vanished}
    while True:
        for path in sorted(folder.glob("*--*")):
            verb, _, machine_id = path.name.partition("--")
            if verb in acts and machine_id in provider.records:
                path.unlink(missing_ok=True)
                acts[verb](machine_id)
        await clock.sleep(provider.habits.refresh)


if __name__ == "__main__":
    folder, verb, machine_id = sys.argv[1:4]
    (Path(folder) / f"{verb}--{machine_id}").touch()
