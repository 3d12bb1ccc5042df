"""A reconciler that owns what views give it: of provider `acme`, by zone."""

from bigfleet.model.ownership import Ownership, OwnershipView
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.shard.settings import ShardSettings
from tests.reconciling.rig import Rig


def view(revision: int, default: str = "", **zones: str) -> OwnershipView:
    """Shards by zone, `eu_1a` being eu-1a; an empty one has no owner."""
    domains = {(ZONE_KEY, zone.replace("_", "-")): shard for zone, shard in zones.items()}
    return OwnershipView.of(
        revision, domains=domains, default_owners={"acme": default} if default else {}
    )


def shard_of(first: OwnershipView | None, settings: ShardSettings | None = None) -> Rig:
    ownership = Ownership("shard-0", everything=False)
    if first is not None:
        ownership = ownership.newer(first, ["acme"])
    return Rig(ownership=ownership, settings=settings)


def takes(rig: Rig, newer: OwnershipView) -> None:
    """A view comes, and everything that is not ours by it leaves."""
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.newer(newer, ["acme"]), rig.now)
    while rig.reconciler.continue_sweep():
        continue


def takes_over(rig: Rig) -> None:
    """Everything left to be done is done."""
    while rig.reconciler.continue_list("acme"):
        continue
