"""Ingest: the only way a roll-up becomes demand.

Refused ones change nothing and are not acknowledged, so the operator goes on offering them; held
ones are acknowledged and change nothing yet. One that says what the last accepted one said costs a
comparison. A cluster counts as having reported from its first roll-up on that was read at all: from
then on its machines may be reclaimed.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

from bigfleet.edge.counts import OTHER, Counts
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.journal import JournalEvent
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.rollups import Rollup, RollupRefusal, RollupRefused
from bigfleet.model.shard_views import Quarantine
from bigfleet.shard.effects import Effects
from bigfleet.shard.ingest.rollup_guard import (
    GUARDED_MACHINES,
    Accepted,
    Hold,
    accepted_of,
    next_hold,
    why_suspicious,
)
from bigfleet.shard.ingest.weights import Weights
from bigfleet.shard.ledgers.first_machines import FirstMachines
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import CurrentShardSettings

if TYPE_CHECKING:
    from bigfleet.shard.action_checks import ActionChecks

REFUSED = "rollups_rejected_total"
#: One log line per cluster and reason within this time.
_QUIET = 60 * SECOND


class IngestNeighbours(Protocol):
    """Parts that are made after the ingest."""

    action_checks: "ActionChecks"


class NothingHeld(LookupError):
    """No roll-up of that cluster is held."""


class Ingest:
    def __init__(
        self,
        effects: Effects,
        settings: CurrentShardSettings,
        needs: NeedsTable,
        sessions: Sessions,
        first_machines: FirstMachines,
        parts: IngestNeighbours,
    ) -> None:
        self.weights = Weights(needs, settings)
        #: Clusters whose machines may be reclaimed.
        self.reported: set[str] = set()
        self._effects = effects
        self._settings = settings
        self._needs = needs
        self._sessions = sessions
        self._first_machines = first_machines
        self._parts = parts
        self._accepted: dict[str, Accepted] = {}
        self._holds: dict[str, Hold] = {}
        #: When the last roll-up of a cluster was accepted or held.
        self._last_at: dict[str, Instant] = {}
        self._logged_at: dict[tuple[str, str], Instant] = {}
        #: Clusters whose last roll-up was refused. Those of clusters without demand in force end
        #: with their session.
        self._refusals: dict[str, RollupRefusal] = {}
        #: Clusters that were gone when the last page was made, and are still counted.
        self._gone: set[str] = set()

    def rows_of(self, cluster: str) -> int:
        """Rows of the demand in force."""
        accepted = self._accepted.get(cluster)
        return accepted.rows if accepted else 0

    def last_rollup_at(self, cluster: str) -> Instant | None:
        return self._last_at.get(cluster)

    def refusal_of(self, cluster: str) -> RollupRefusal | None:
        """None: its last roll-up was taken, or it sent none."""
        return self._refusals.get(cluster)

    def refused_clusters(self) -> int:
        """Whose last roll-up was refused."""
        return len(self._refusals)

    def on_session_lost(self, cluster: str) -> None:
        if cluster not in self._accepted:
            self._refusals.pop(cluster, None)

    def on_rollup(self, cluster: str, rollup: Rollup | RollupRefused, at: Instant) -> bool:
        """Take a roll-up from the session of `cluster`; whether to acknowledge it."""
        if isinstance(rollup, Rollup) and rollup.cluster_id != cluster:
            text = (
                f"the roll-up is of cluster {rollup.cluster_id!r}, the session of {cluster!r};"
                " each operator reports its own cluster; the last accepted demand stays"
            )
            rollup = RollupRefused("cluster_mismatch", text)
        known = self._accepted.get(cluster)
        repeats = isinstance(rollup, Rollup) and known is not None and known.digest == rollup.digest
        if isinstance(rollup, Rollup) and not repeats:
            # A first roll-up that is too heavy has not reported: its machines stay where they are.
            rollup = self.weights.why_not(cluster, rollup) or rollup
        if isinstance(rollup, RollupRefused):
            self._refuse(cluster, rollup, at)
            return False
        self._refusals.pop(cluster, None)
        self.reported.add(cluster)
        self._last_at[cluster] = at
        if repeats:
            self._end_hold(cluster, rollup, at)
            self._count("accepted")
            return True
        if known is not None and (what := self._why_suspicious(cluster, rollup, known)):
            hold = self._holds.get(cluster)
            hold = next_hold(hold, rollup, known.rows, self._settings.now.rails, at, what)
            if hold is not None:
                self._keep(cluster, hold)
                return True
            self._log_believed(cluster, rollup, known.rows)
            self._drop_hold(cluster)
        else:
            self._end_hold(cluster, rollup, at)
        self._accept(cluster, rollup, at)
        return True

    def forget(self, cluster: str) -> None:
        """The cluster is another shard's: its demand counts there, and here it has not reported."""
        self.reported.discard(cluster)
        self._last_at.pop(cluster, None)
        self._refusals.pop(cluster, None)
        self._drop_hold(cluster)
        if self._accepted.pop(cluster, None) is not None:
            self.weights.replace(cluster, None)
            self._needs.replace(cluster, ())
            self._first_machines.on_demand(cluster, (), 0)
            self._effects.wake()

    def held_clusters(self) -> Collection[str]:
        """Whose latest roll-up is held."""
        return self._holds.keys()

    def quarantines(self) -> list[Quarantine]:
        return [
            self._holds[name].view(name, self._settings.now.rails) for name in sorted(self._holds)
        ]

    def release(self, subject: str, accept: bool, at: Instant) -> str:
        """An administrator decides: believe what is held, or forget it; what was done.

        Raises NothingHeld where nothing is held for that cluster.
        """
        hold = self._holds.get(subject)
        if hold is None:
            raise NothingHeld(
                f"no roll-up of cluster {subject!r} is held; list quarantines for those that are"
            )
        self._drop_hold(subject)
        rows = len(hold.newest.needs)
        if accept:
            self._accept(subject, hold.newest, at)
            text = f"accepted the held roll-up of {subject}: {hold.baseline} rows became {rows}"
        else:
            text = (
                f"discarded the held roll-up of {subject} with {rows} rows;"
                f" {hold.baseline} rows stay in force and counting starts anew"
            )
        self._effects.log("warning", "rollup_released", text, cluster=subject, accepted=accept)
        return text

    def measure(self, counts: Counts) -> None:
        """Set the gauge of held roll-ups; forget what was counted of clusters that are gone.

        Not before a page has shown the last of it: what a counter grew by would be lost with it.
        """
        held = {(name,): float(hold.consecutive) for name, hold in self._holds.items()}
        counts.show("rollup_quarantined", ("cluster",), held)
        refused = {dict(labels)["cluster"] for name, labels in counts.counters if name == REFUSED}
        gone = {
            name
            for name in refused - {OTHER}
            if not (self._sessions.is_open(name) or self.rows_of(name))
        }
        for cluster in gone & self._gone:
            counts.drop_all_with(REFUSED, cluster=cluster)
        self._gone = gone - self._gone
        is_open = self._sessions.is_open
        self._logged_at = {key: at for key, at in self._logged_at.items() if is_open(key[0])}
        for cluster in tuple(self._refusals):
            if not is_open(cluster):
                self.on_session_lost(cluster)

    # -- within ----------------------------------------------------------------------------------

    def _why_suspicious(self, cluster: str, rollup: Rollup, known: Accepted) -> str:
        # Those of a hold that has begun count on: its machines must not drain out of it.
        held = cluster in self._holds
        claimed = GUARDED_MACHINES if held else 0
        claimed_of, rails = self._parts.action_checks.claimed_of, self._settings.now.rails
        return why_suspicious(rollup, known, lambda: max(claimed, claimed_of(cluster)), rails)

    def _refuse(self, cluster: str, refused: RollupRefused, at: Instant) -> None:
        self._count("rejected")
        before = self._refusals.get(cluster)
        self._refusals[cluster] = RollupRefusal(
            refused.reason,
            refused.text,
            before.since if before else at,
            before.times + 1 if before else 1,
        )
        counts = self._effects.counts
        counts.add(REFUSED, cluster=cluster, reason=refused.reason)
        key = (cluster, refused.reason)
        logged = self._logged_at.get(key)
        if logged is None or at - logged >= _QUIET:
            self._logged_at = {k: t for k, t in self._logged_at.items() if at - t < _QUIET}
            self._logged_at[key] = at
            self._effects.log(
                "warning",
                "rollup_rejected",
                refused.text,
                cluster=cluster,
                reason=refused.reason,
            )

    def _keep(self, cluster: str, hold: Hold) -> None:
        self._holds[cluster] = hold
        self._count("held")
        rails, rows = self._settings.now.rails, len(hold.newest.needs)
        self._effects.log(
            "warning",
            "rollup_held",
            f"held a roll-up of {cluster}: {hold.what};"
            f" number {hold.consecutive} in a row, believed after"
            f" {rails.rollup_guard_confirmations} over {rails.rollup_guard_min_hold:g} s",
            cluster=cluster,
            rows=rows,
            baseline=hold.baseline,
            consecutive=hold.consecutive,
        )

    def _log_believed(self, cluster: str, rollup: Rollup, baseline: int) -> None:
        rows = len(rollup.needs)
        self._effects.log(
            "warning",
            "rollup_confirmed",
            f"cluster {cluster} has confirmed that {baseline} rows became {rows}; applying it",
            cluster=cluster,
            rows=rows,
            baseline=baseline,
        )

    def _end_hold(self, cluster: str, rollup: Rollup, at: Instant) -> None:
        hold = self._holds.get(cluster)
        if hold is None:
            return
        self._drop_hold(cluster)
        seconds = (at - hold.since) // SECOND
        self._effects.log(
            "info",
            "rollup_hold_ended",
            f"cluster {cluster} reports {len(rollup.needs)} rows again after"
            f" {hold.consecutive} held roll-ups in {seconds} s; nothing was withdrawn",
            cluster=cluster,
        )

    def _drop_hold(self, cluster: str) -> None:
        self._holds.pop(cluster, None)

    def _accept(self, cluster: str, rollup: Rollup, at: Instant) -> None:
        self.weights.replace(cluster, rollup)
        self._needs.replace(cluster, rollup.needs)
        self._first_machines.on_demand(cluster, rollup.needs, at)
        known, rows = self._accepted.get(cluster), len(rollup.needs)
        self._accepted[cluster] = accepted_of(rollup)
        self._note_accepted(cluster, rows, known.rows if known else 0)
        self._count("accepted")
        self._effects.wake()

    def _note_accepted(self, cluster: str, rows: int, before: int) -> None:
        """For the journal: too many for the log. One that repeats the last is not told."""
        text = f"took a roll-up of cluster {cluster}: {rows} rows, {before} before"
        facts = {"rows": str(rows), "baseline": str(before)}
        self._effects.note(JournalEvent("rollup_accepted", cluster, text, facts))

    def _count(self, result: str) -> None:
        self._effects.counts.add("rollups_total", result=result)
