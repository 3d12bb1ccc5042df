"""What the demand of all clusters weighs together, and whether one more roll-up fits.

Bytes, distinct profiles, distinct resource names and the estimated seconds of a cycle are limited
for the fleet. Half of each limit goes to the clusters as they come; of the other half each cluster
has an equal share that no other can take. So one cluster cannot lock the others out, and all of
them together stay below the limit. A roll-up that adds nothing is always let in: a fleet that is
too heavy can shrink.

Nearly every roll-up is far from every limit, and a few sums show it. Only the others are counted
exactly.
"""

from dataclasses import dataclass
from typing import NamedTuple

from bigfleet.engine.decision import Decision
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.shard.ingest.cycle_cost import CycleCost, DemandSize, SupplySize, named_hosts
from bigfleet.shard.settings import CurrentShardSettings

#: Roll-ups of fewer rows add next to nothing to the keys of a large fleet: they share theirs with
#: other clusters, and the next cycle counts them.
_ROWS_TO_COUNT = 4_096


class _Own(NamedTuple):
    """What is known of one cluster's demand without looking at it again."""

    size_bytes: int = 0
    rows: int = 0
    #: 0 where they were not worth counting.
    keys: int = 0


_NOTHING = _Own()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One limit of the fleet, and what a roll-up would make of it."""

    what: str
    setting: str
    limit: float
    #: Of all clusters, without and with the roll-up.
    before: float
    after: float
    #: Of the cluster alone: what goes when it goes.
    own: float
    unit: str = ""

    def why_not(self, clusters: int) -> str | None:
        half = self.limit / 2
        share = half / clusters
        if self.after <= half or self.after <= self.before:
            return None
        if self.after <= self.limit and self.own <= share:
            return None
        return (
            f"{self.what}: {self.after:,.0f}{self.unit} with this roll-up, {half:,.0f}{self.unit} "
            f"allowed, and {share:,.1f}{self.unit} to each of {clusters} clusters beyond that; "
            f"{self.own:,.1f}{self.unit} are this cluster's alone; ask for less, or raise "
            f"{self.setting} ({self.limit:,.0f}{self.unit})"
        )


class Weights:
    def __init__(self, needs: NeedsTable, settings: CurrentShardSettings) -> None:
        self._needs = needs
        self._settings = settings
        self._cost = CycleCost()
        #: All and only clusters that ask for something.
        self._own: dict[str, _Own] = {}
        self._bytes = 0

    def sizes(self) -> dict[str, int]:
        return {"rollupBytes": self._bytes, "rollupClusters": len(self._own)}

    def why_not(self, cluster: str, rollup: Rollup) -> RollupRefused | None:
        """Why the roll-up may not replace what the cluster asked for before; None: it may."""
        if self._is_light(rollup):
            return None
        before = self._own.get(cluster, _NOTHING)
        clusters = len(self._own) + (cluster not in self._own)
        for asked in self._asked(cluster, rollup, before):
            if text := asked.why_not(clusters):
                return RollupRefused("too_heavy", f"{text}; the last accepted demand stays")
        return None

    def replace(self, cluster: str, rollup: Rollup | None) -> None:
        """What the cluster asks for from here on; None: nothing any more."""
        before = self._own.pop(cluster, _NOTHING)
        after = _NOTHING
        if rollup is not None and rollup.needs:
            after = _Own(rollup.size_bytes, len(rollup.needs), _keys_of(rollup))
            self._own[cluster] = after
        self._bytes += after.size_bytes - before.size_bytes
        if after.keys > before.keys:
            self._cost.on_accepted(after.keys - before.keys)

    def on_cycle_begun(self) -> None:
        self._cost.on_cycle_begun()

    def on_cycle_ended(self, decision: Decision, seconds: float) -> None:
        """What the engine really worked on, and how long."""
        outcome, scene = decision.outcome, decision.outcome.scene
        keys = len(outcome.kinds.eligible)
        demand = DemandSize(len(scene.demand), int(scene.used_profiles.sum()), keys)
        kinds, machines = max(1, len(scene.kinds)), max(1, len(scene.snapshot))
        supply = SupplySize(kinds, machines, len(scene.dimensions))
        self._cost.on_cycle_ended(demand, supply, seconds)

    def _is_light(self, rollup: Rollup) -> bool:
        """Whether it stays within the first half of every limit, had each row its own profile."""
        settings, needs, rows = self._settings.now.rollup, self._needs, len(rollup.needs)
        profiles = needs.profile_count + rows
        size = DemandSize(len(needs) + rows, profiles, self._cost.keys + rows, rows)
        return (
            2 * (self._bytes + rollup.size_bytes) <= settings.fleet_bytes
            and 2 * profiles <= settings.fleet_profiles
            and 2 * (needs.name_count + settings.max_resource_names)
            <= settings.fleet_resource_names
            and 2 * self._cost.seconds(size) <= self._settings.now.engine_timeout
        )

    def _asked(self, cluster: str, rollup: Rollup, before: _Own) -> list[_Asked]:
        settings, cost = self._settings.now.rollup, self._cost
        others = self._needs.vocabulary(lambda name: name != cluster)
        known = self._needs.vocabulary(lambda name: True)
        profiles = {need.profile.fingerprint: need.profile for need in rollup.needs}
        names = _names_of(rollup)
        own_profiles, own_names = profiles.keys() - others.profiles, names - others.names
        keys, hosts = _keys_of(rollup), named_hosts(profiles.values())
        rows, now = len(rollup.needs), len(self._needs)
        all_profiles = len(others.profiles) + len(own_profiles)
        more_keys = cost.keys + max(0, keys - before.keys)
        return [
            _Asked(
                "bytes of all roll-ups",
                "rollup.fleet_bytes",
                settings.fleet_bytes,
                self._bytes,
                self._bytes + rollup.size_bytes - before.size_bytes,
                rollup.size_bytes,
            ),
            _Asked(
                "distinct profiles of all clusters",
                "rollup.fleet_profiles",
                settings.fleet_profiles,
                len(known.profiles),
                all_profiles,
                len(own_profiles),
            ),
            _Asked(
                "distinct resource names of all clusters",
                "rollup.fleet_resource_names",
                settings.fleet_resource_names,
                len(known.names),
                len(others.names) + len(own_names),
                len(own_names),
            ),
            _Asked(
                "estimated time of a decision",
                "engine_timeout",
                self._settings.now.engine_timeout,
                cost.seconds(DemandSize(now, len(known.profiles), cost.keys)),
                cost.seconds(DemandSize(now + rows - before.rows, all_profiles, more_keys, hosts)),
                cost.seconds(DemandSize(rows, len(own_profiles), keys, hosts)),
                " s",
            ),
        ]


def _keys_of(rollup: Rollup) -> int:
    """Equal profiles and vectors are one object each, as the reader of roll-ups makes them; where
    they are not, some count twice."""
    if len(rollup.needs) < _ROWS_TO_COUNT:
        return 0
    return len({(id(need.profile), id(need.min_unit)) for need in rollup.needs})


def _names_of(rollup: Rollup) -> set[str]:
    vectors = {id(need.aggregate): need.aggregate for need in rollup.needs}
    vectors |= {id(need.min_unit): need.min_unit for need in rollup.needs}
    return {name for vector in vectors.values() for name in vector}
