"""What brings a Failed machine back, by why it failed: the command that works, ready to be run.

What only the provider can mend is mended there: a shard that looks again sees it Failed again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bigfleet.model.shard_views import MachineView

#: The provider itself calls the machine Failed.
_PROVIDER_FAILED = "provider_failed"
_FENCED = "fenced"


def remedy_of(view: "MachineView", addresses: Mapping[str, str]) -> str:
    """Empty: it is not Failed. `addresses`: of the shard's providers, by name."""
    why, machine = view.failed, view.machine.id
    if why is None:
        return ""
    clear = f"bigfleet machines clear {machine} --reason WHY --mode"
    if why.cause == _PROVIDER_FAILED:
        where = f" --addr {addresses[view.provider]}" if view.provider in addresses else ""
        return (
            f"its provider {view.provider} has to mend it: "
            f"bigfleet provider failed repair {machine}{where} --reason WHY"
        )
    if why.cause == _FENCED:
        return f"see that only one process has this shard's id, then: {clear} recheck"
    if not why.automatic:
        return f"the shard no longer looks at it: {clear} retry"
    return f"it comes back by itself when its provider shows it well; to look now: {clear} recheck"
