"""Which shard is asked for machines: of those nothing speaks against, the one with the most.

The coordinator knows counts, not machines: a donor may turn out to have nothing that matches, says
so, and the next one is asked.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from bigfleet.coordinator.rebalancing import layers
from bigfleet.coordinator.rebalancing.scene import PossibleDonor, RankedDonors, Scene
from bigfleet.coordinator.rebalancing.shortages import MachineShape, machines_for, may_match
from bigfleet.model.coordination import ShortfallDetail, TransferTier
from bigfleet.model.reasons import Reason

#: A shard, and the address of the provider whose machines it is asked for.
Asked = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Donor:
    shard: str
    provider: str
    #: Machines that may match, at most.
    matching: int
    #: Machines it may give.
    most: int


@dataclass(frozen=True, slots=True)
class Choice:
    #: None: no shard can be asked.
    donor: Donor | None
    #: Why the best of the others cannot.
    against: Reason | None = None


def choose_donor(
    scene: Scene,
    receiver: str,
    shortfall: ShortfallDetail,
    tier: TransferTier,
    asked: Collection[Asked] = (),
) -> Choice:
    row = scene.shard(receiver)
    # In-process providers have no address and are not shared between shards.
    providers = tuple(address for address in row.providers if address) if row is not None else ()
    ranked = _ranked(scene, providers, layers.shape_of(scene, receiver, shortfall), tier)
    first = next(
        (
            (each.place, reason)
            for each, reason in ranked.refusing
            if each.shard != receiver and (each.shard, each.provider) not in asked
        ),
        None,
    )
    for each in ranked.possible:
        if each.shard == receiver or (each.shard, each.provider) in asked:
            continue
        reason = _why_not_asked(scene, each, receiver, shortfall, tier)
        if reason is None:
            most = _most(scene, each.shard, shortfall)
            return Choice(Donor(each.shard, each.provider, each.matching, most))
        if first is None or each.place < first[0]:
            first = (each.place, reason)
    return Choice(None, first[1] if first is not None else None)


def _why_not_asked(
    scene: Scene, each: PossibleDonor, receiver: str, shortfall: ShortfallDetail, tier: TransferTier
) -> Reason | None:
    """For this receiver, and after what the sweep has decided so far."""
    shard, provider = each.shard, each.provider
    reason = (
        layers.why_not_asked_again(scene, shard, tier, provider, shortfall.fingerprint)
        or layers.why_not_back(scene, shard, receiver, provider, shortfall.requirements)
        or layers.why_not_more(scene, shard)
    )
    if reason is None and tier is TransferTier.DRAIN:
        return layers.why_not_drained_for_another(scene, shard)
    return reason


def _most(scene: Scene, shard: str, shortfall: ShortfallDetail) -> int:
    most = min(scene.rules.max_per_transfer, layers.machines_left_to_give(scene, shard))
    needed = machines_for(shortfall.deficit, shortfall.min_unit)
    return most if needed is None else min(most, max(1, needed))


def _ranked(
    scene: Scene, providers: tuple[str, ...], shape: MachineShape, tier: TransferTier
) -> RankedDonors:
    """Machines that may match: the most first, then by name."""
    in_use = tier is TransferTier.DRAIN
    question = (providers, shape.name, in_use)
    if question not in scene.ranked:
        found = []
        for row in scene.shards:
            summary, shared = scene.summary(row.id), set(providers) & set(row.providers)
            if summary is None or not shared:
                continue
            free = summary.free_machines
            matching = may_match(
                summary, shape.requirements, summary.total_machines - free if in_use else free
            )
            if matching > 0:
                found += [(-matching, row.id, provider) for provider in shared]
        scene.ranked[question] = _screened(scene, sorted(found), shape, in_use)
    return scene.ranked[question]


def _screened(
    scene: Scene, found: Iterable[tuple[int, str, str]], shape: MachineShape, in_use: bool
) -> RankedDonors:
    """Separates those that no receiver may ask."""
    possible: list[PossibleDonor] = []
    refusing: list[tuple[PossibleDonor, Reason]] = []
    for place, (less, shard, provider) in enumerate(found):
        each = PossibleDonor(place, -less, shard, provider)
        reason = layers.why_not_giving(scene, shard)
        reason = reason or layers.why_not_short_itself(scene, shard, shape)
        if reason is None and not in_use:
            reason = layers.why_not_spared(scene, shard, each.matching)
        if reason is None:
            possible.append(each)
        else:
            refusing.append((each, reason))
    return RankedDonors(tuple(possible), tuple(refusing))
