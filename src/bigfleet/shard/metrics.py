"""What a shard counts: every name of the catalogue, with its meaning. Prefix: `bigfleet_shard_`."""

from collections.abc import Callable

from bigfleet.costs.statements import TAKEN
from bigfleet.edge.counts import Counts, Survey
from bigfleet.edge.exposition import Catalogue, Exposition
from bigfleet.model.action_outcomes import ActionOutcome
from bigfleet.model.actions import ActionKind
from bigfleet.model.thrash import ThrashKind

PREFIX = "bigfleet_shard_"

HISTOGRAMS = {
    "cycle_duration_seconds": "One cycle, from input to the last action handed on.",
    "cycle_phase_duration_seconds": "Parts of a cycle; execute hands its actions on, reconcile "
    "takes a List over.",
    "create_phase_seconds": "Creates, from the start to the completion seen.",
    "configure_phase_seconds": "Configures, from the start to the completion seen.",
    "drain_phase_seconds": "Drains, from the start to the completion seen.",
    "delete_phase_seconds": "Deletes, from the start to the completion seen.",
    "request_bootstrap_seconds": "Bootstrap blobs, from request to answer.",
    "eviction_seconds": "Reclaim instructions, from sending to the completion ack.",
    "provider_rpc_seconds": "Calls to providers.",
    "journal_fsync_seconds": "Journal writes forced to disk, about one a second.",
    "loop_lag_seconds": "How late the event loop was.",
    "phase1_proposal_duration_seconds": "Proposals at the broker; each counts with the mean of its "
    "cycle, which both modes share.",
    "provisioning_latency_seconds": "From the first sight of (cluster, fingerprint) in the demand "
    "to the first machine Configured for it; what existing machines cover is not counted.",
}
COUNTERS = {
    "cycles_total": "Cycles.",
    "cycle_errors_total": "Cycles that decided nothing because the engine failed.",
    "actions_total": "Actions handed on for execution.",
    "action_dispositions_total": "What became of every decided action.",
    "action_execute_outcomes_total": "How executed actions ended.",
    "actions_deferred_total": "Actions put off by budget or breaker.",
    "actions_dropped_total": "Actions that found the queue full.",
    "actions_deduped_total": "Actions for machines something is already under way for.",
    "actions_suppressed_total": "Actions held by a pause.",
    "actions_dryrun_total": "Actions not executed because of dry-run.",
    "phase_completions_total": "Creates, configures, drains and deletes that ended.",
    "idle_releases_total": "Machines given back to their provider.",
    "provider_rpc_errors_total": "Calls to providers that failed.",
    "machine_attribute_updates_total": "Attributes refreshed on an equal state.",
    "machines_rejected_total": "Provider records refused.",
    "machine_failures_total": "Machines that became Failed.",
    "machine_recoveries_total": "Failed machines that came back.",
    "drains_aborted_total": "Drains given up.",
    "preemption_reservation_misses_total": "Freed victims lost to a higher Need.",
    "reclaims_capped_total": "Reclaims held by the cap.",
    "preempts_capped_total": "Preempts held by the cap.",
    "verifier_vetoes_total": "Actions the verifier vetoed, by invariant.",
    "verifier_incidents_total": "Vetoes of what the engine must never ask for, by invariant.",
    "verifier_errors_total": "Batches the verifier failed on: what is destructive was vetoed.",
    "rollups_total": "Roll-ups by result.",
    "rollups_rejected_total": "Roll-ups refused, by cluster and reason.",
    "session_lifecycle_total": "Sessions installed, removed, replaced, stalled.",
    "session_identity_rejected_total": "Sessions refused for their certificate.",
    "session_misbound_total": "Sessions of clusters that belong to another shard.",
    "outbox_coalesced_total": "Frames replaced by a newer one before they were sent.",
    "outbox_overflows_total": "Sessions ended because their outbox was full.",
    "reclaim_resends_total": "Reclaim instructions sent again after a reconnect.",
    "bootstrap_responses_dropped_total": "Bootstrap answers that came without a request.",
    "drains_without_session_total": "Preempts whose cluster never connected within the grace.",
    "phase1_occ_proposals_total": "Proposals of parallel workers by outcome.",
    "phase1_occ_displacements_total": "Claims taken over by an earlier Need; stays 0, because "
    "proposals are committed in precedence order.",
    "phase1_occ_retries_total": "Stale proposals made again, by mode and outcome; empty: nothing "
    "was left to take. Conflict stays 0, because a retry is made on the claims as they are.",
    "phase1_occ_retries_exhausted_total": "Needs given up for conflicts; stays 0, because one "
    "retry is enough.",
    "coordinator_reports_total": "Reports to the coordinator by result.",
    "coordinator_syncs_total": "SyncShard calls by result.",
    "coordinator_rows_left_off_total": "Rows of reports and syncs that did not fit, by field.",
    "instructions_total": "Instructions of the coordinator by kind and outcome.",
    "machines_lost_total": "Configured machines that their cluster lost, by cause.",
    "report_machines_ignored_total": "Machines in cluster reports that are not Configured for "
    "the cluster that names them, by list.",
    "creates_avoided_total": "Creates saved by an offering's back-off.",
    "thrash_findings_total": "Machines seen to go back and forth, and preemptions that repeat or "
    "cause each other, by kind.",
    "declared_penalties_dollars_total": "Declared dollars of completed Preempts and Reclaims, by "
    "kind; never billed, without pinned workloads, which have no amount.",
    "journal_bytes_total": "Bytes written to the journal.",
    "journal_write_errors_total": "Writes of the journal that failed.",
    "journal_gaps_total": "Cycles and notes the journal lacks: the disk was full, slow or gone.",
}
GAUGES = {
    "epoch": "Which start of the shard this is.",
    "inventory_machines": "Machines by state, capacity type and interruption penalty.",
    "demand_machines": "Need rows by interruption penalty (the name is kept for dashboards).",
    "demand_resources": "Resources asked for, over all Needs.",
    "unmet_resources": "Resources not covered.",
    "active_sessions": "Operators connected.",
    "needs": "Needs by state (met, arriving, blocked, short) and class of priority.",
    "needs_oldest_seconds": "How long the oldest Need of a state has been in it.",
    "shortfalls": "Needs short of something even preemption could not give.",
    "shortfalls_by_priority": "Shortfalls by class of priority.",
    "shortfalls_aged": "Shortfalls by age in cycles.",
    "action_queue_depth": "Actions waiting.",
    "execute_inflight": "Actions under way.",
    "provider_breaker_open": "1 while a provider's breaker is open.",
    "provider_list_machines": "Machines of the last good List.",
    "provider_list_age_seconds": "Age of the last good List.",
    "machines_unseen": "Machines the last full Lists did not name.",
    "list_quarantined": "Suspicious Lists in a row that are held.",
    "machines_ignored_unowned": "Machines of other shards in the last List.",
    "failed_machines": "Failed machines by cause.",
    "machines_stuck": "Failed machines that are no longer looked at.",
    "lost_machines": "Machines given up and not gone yet, by cause.",
    "lost_machines_waiting": "Machines reported lost that wait: too many at once, too many "
    "unhealthy, a pause, or a report that is doubted.",
    "transitional_overdue": "Machines past the deadline of their state.",
    "drains_open": "Drains by stage.",
    "reservations": "Reservations by kind.",
    "rollup_quarantined": "Suspicious roll-ups in a row that are held.",
    "actuation_paused": "1 while a pause covers everything.",
    "pauses_active": "Pauses by source.",
    "outbox_depth": "Unsent frames.",
    "outbox_bytes": "Unsent bytes.",
    "outbox_oldest_age_seconds": "Age of the oldest unsent frame.",
    "phase1_occ_conflict_fraction": "Conflicts per commit in the last cycle.",
    "offering_backoff": "Offerings by state of their back-off.",
    "ownership_revision": "Revision of the ownership view.",
    "quota_allocated": "Machines granted by quota.",
    "quota_in_use": "Machines of a granted quota that are no slots any more, or between shards.",
    "cost_per_hour": "Dollars per hour of real machines.",
    "expected_interruption_cost_per_hour": "Dollars per hour that interruptions of real machines "
    "are expected to cost: probability times the penalty stamped on the machine; +Inf where a "
    "pinned workload may be interrupted.",
    "cost_dollars_per_hour": "Dollars per hour that machines with a host and those being created "
    "are billed, by cluster (`-`: none) and capacity type; clusters beyond the 200 that cost most "
    "are `other`.",
    "idle_dollars_per_hour": "Dollars per hour that Idle machines are billed which may be taken.",
    "cost_ledger_degraded": "1 while costs.db cannot be written.",
    "regret_dollars_per_hour": "Dollars per hour of effective cost between the last measured cycle "
    "and its lower bound; absent while nothing is measured.",
    "regret_ratio": "That as a part of the cycle's effective cost, 0 to 1.",
    "audit_lines_lost": "Audit lines that never reached the file.",
    "forecast_needs": "Needs that wait, by path of their forecast.",
    "forecast_reliability": "Share of the last 500 forecasts that was met by p50, p80 and p95.",
    "forecast_outcomes": "Forecasts that have ended, of which the reliability is; 500 at most.",
    "forecasts_open": "First forecasts of Needs that are neither met nor gone yet.",
    "forecasts_overdue": "Those of them whose p95 has passed.",
    "forecast_lag_seconds": "How much older than the last cycle the forecasts are.",
    "journal_degraded": "1 while the journal or the audit log cannot be written.",
    "journal_lag_seconds": "How long the oldest record that is not on disk yet has waited.",
    "journal_oldest_timestamp_seconds": "How far back the journal goes.",
    "state_degraded": "1 while state.db cannot be written.",
    "statements_degraded": "1 while statements.db cannot be written or read.",
}


_PLAIN = (
    *("cycles_total", "cycle_errors_total", "creates_avoided_total", "verifier_errors_total"),
    *("journal_bytes_total", "journal_write_errors_total", "journal_gaps_total"),
    *("session_identity_rejected_total", "session_misbound_total", "outbox_overflows_total"),
)
_CLOSED = (
    ("session_lifecycle_total", "event", ("installed", "removed", "replaced", "stalled")),
    ("verifier_incidents_total", "invariant", ("V1", "V2", "V4", "V9", "V12")),
    ("rollups_total", "result", ("accepted", "held", "rejected")),
    ("drains_aborted_total", "reason", ("pdb", "cancelled", "no_session", "refused")),
    ("phase1_occ_proposals_total", "outcome", ("committed", "conflict")),
    ("declared_penalties_dollars_total", "kind", tuple(kind.label for kind in TAKEN)),
    ("thrash_findings_total", "kind", tuple(kind.label for kind in ThrashKind if kind)),
    ("coordinator_reports_total", "result", ("ok", "not_leader", "error", "stale_term")),
)
CATALOGUE = Catalogue(PREFIX, HISTOGRAMS, COUNTERS, GAUGES)


class ShardMetrics(Exposition):
    """`refresh` sets the gauges that are looked up rather than counted."""

    def __init__(
        self,
        counts: Counts,
        refresh: Callable[[], Survey | None],
        version: str,
        certificate_ends: Callable[[], float | None] = lambda: None,
    ) -> None:
        super().__init__(CATALOGUE, counts, refresh, version, certificate_ends)
        _begin(counts)


def _begin(counts: Counts) -> None:
    """Rows at 0 for everything that has a closed set of labels: an alert sees its first step."""
    for name in _PLAIN:
        counts.add(name, 0)
    for kind in ActionKind:
        counts.add("actions_total", 0, kind=kind.label)
        for outcome in ActionOutcome:
            counts.add("action_execute_outcomes_total", 0, kind=kind.label, outcome=outcome.value)
    for name, label, values in _CLOSED:
        for value in values:
            counts.add(name, 0, **{label: value})
    counts.set("actuation_paused", 0)
