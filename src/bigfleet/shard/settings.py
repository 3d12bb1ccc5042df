"""Everything about a shard that may be set, with its default and whether SIGHUP may change it.

Durations are seconds, sizes are bytes; the field's type says which, for readers of text.
"""

from dataclasses import dataclass

from bigfleet.model.rollups import RollupLimits
from bigfleet.model.settings import Bytes, CurrentSettings, Seconds, setting


@dataclass(frozen=True, slots=True)
class ExecuteSettings:
    concurrency: int = setting(256, "actions under way at a time", least=1)
    queue_factor: int = setting(2, "actions that may wait, as a multiple of concurrency", least=1)
    rpc_timeout: Seconds = setting(
        30.0, "deadline of a provider call", reloadable=True, least=0.001
    )
    list_timeout: Seconds = setting(120.0, "deadline of a List", reloadable=True, least=0.001)
    bootstrap_timeout: Seconds = setting(
        30.0, "how long an operator may take for a bootstrap blob", reloadable=True, least=0.001
    )


@dataclass(frozen=True, slots=True)
class ReconcileSettings:
    mode: str = setting("auto", "how a provider is listed", choices=("auto", "full", "incremental"))
    interval: Seconds = setting(
        1.0, "pause between two Lists of a provider", reloadable=True, least=0.001
    )
    full_interval: Seconds = setting(
        300.0, "how often an incremental provider is listed whole", reloadable=True, least=0.001
    )
    incremental_from: int = setting(10_000, "machines from which Lists are incremental")
    absent_lists: int = setting(2, "full Lists a machine must miss before it is removed", least=1)
    breaker_failures: int = setting(5, "transport failures in a row that open the breaker", least=1)
    breaker_window: Seconds = setting(30.0, "time within which they must happen", least=0.001)
    breaker_probe: Seconds = setting(
        10.0, "pause between two Lists while the breaker is open", least=0.001
    )


@dataclass(frozen=True, slots=True)
class RailSettings:
    actuation_paused: bool = setting(False, "decide, but start nothing")
    pause_file: str = setting("pause", "file that pauses while it exists; in data_dir if relative")
    reclaim_cap_fraction: float = setting(
        0.05,
        "part of a cluster that may be reclaimed at a time; 0 turns it off",
        reloadable=True,
        most=1,
    )
    reclaim_cap_window: Seconds = setting(
        10.0, "the time meant by that", reloadable=True, least=0.001
    )
    preempt_cap_per_minute: int = setting(
        50,
        "machines a cluster may lose to higher priorities a minute, or half of its machines if "
        "that is more; 0 turns it off",
        reloadable=True,
    )
    empty_rollup_guard: bool = setting(
        True, "hold roll-ups that lost nearly everything", reloadable=True
    )
    rollup_guard_min_rows: int = setting(10, "rows below which a roll-up is never held")
    rollup_guard_fraction: float = setting(
        0.1, "part of the last rows below which it is held", most=1
    )
    rollup_guard_confirmations: int = setting(
        3, "such roll-ups in a row that are believed", least=1
    )
    rollup_guard_min_hold: Seconds = setting(20.0, "time over which they must come")
    list_guard: bool = setting(True, "hold Lists that lost many machines", reloadable=True)
    list_guard_min: int = setting(10, "machines below which a List is never held")
    list_guard_fraction: float = setting(0.1, "part of the machines that may be missing", most=1)
    list_guard_confirmations: int = setting(3, "such Lists in a row that are believed", least=1)
    list_guard_min_hold: Seconds = setting(60.0, "time over which they must come")
    pause_default_ttl: Seconds = setting(
        4 * 3600.0, "expiry of a pause that names none", least=0.001
    )
    pause_max_ttl: Seconds = setting(
        7 * 24 * 3600.0, "longest expiry a pause may name", least=0.001
    )
    journal_required: bool = setting(False, "start nothing while the journal cannot be written")


_ROLLUP = RollupLimits()


@dataclass(frozen=True, slots=True)
class RollupSettings:
    """What one cluster may cost, and what all of them may cost together (ADR-0011)."""

    max_bytes: Bytes = setting(_ROLLUP.max_bytes, "bytes of a roll-up", reloadable=True, least=1)
    max_row_bytes: Bytes = setting(
        _ROLLUP.max_row_bytes, "bytes of a row of a roll-up", reloadable=True, least=1
    )
    max_profiles: int = setting(
        _ROLLUP.max_profiles, "distinct profiles of a roll-up", reloadable=True, least=1
    )
    max_resource_names: int = setting(
        _ROLLUP.max_resource_names, "distinct resource names of a roll-up", reloadable=True, least=1
    )
    max_requirements: int = setting(
        _ROLLUP.max_requirements,
        "requirements of a profile; as many spreads are allowed beside them",
        reloadable=True,
        least=1,
    )
    max_values: int = setting(
        _ROLLUP.max_values, "values of a requirement", reloadable=True, least=1
    )
    max_group_bytes: Bytes = setting(
        _ROLLUP.max_group_bytes, "bytes of a group", reloadable=True, least=1
    )
    fleet_bytes: Bytes = setting(
        512 * 1024 * 1024,
        "bytes of the roll-ups of all clusters; half of it, and of the two below, is shared in "
        "equal parts",
        reloadable=True,
        least=2,
    )
    fleet_profiles: int = setting(
        100_000, "distinct profiles of all clusters", reloadable=True, least=2
    )
    fleet_resource_names: int = setting(
        512, "distinct resource names of all clusters", reloadable=True, least=2
    )

    def limits(self) -> RollupLimits:
        """Those of a single roll-up."""
        return RollupLimits(
            self.max_bytes,
            self.max_row_bytes,
            self.max_profiles,
            self.max_resource_names,
            self.max_requirements,
            self.max_values,
            self.max_group_bytes,
        )


@dataclass(frozen=True, slots=True)
class DrainSettings:
    reclaim_grace: Seconds = setting(600.0, "time a cluster has to give a machine back")
    reclaim_on_deadline: str = setting(
        "abort", "what happens to a Reclaim then", choices=("abort", "force")
    )
    reclaim_without_session: str = setting(
        "defer", "Reclaim of a cluster that is not connected", choices=("defer", "provider")
    )
    abort_backoff: Seconds = setting(600.0, "time an aborted Reclaim is not tried again")
    reservation_margin: Seconds = setting(60.0, "how long a freed victim waits for its Need")


@dataclass(frozen=True, slots=True)
class DeadlineSettings:
    creating: Seconds = setting(900.0, "longest Creating")
    configuring: Seconds = setting(900.0, "longest Configuring")
    draining_extra: Seconds = setting(600.0, "longest Draining, beyond its grace")
    deleting: Seconds = setting(900.0, "longest Deleting")
    join: Seconds = setting(900.0, "longest Configured without ever a Node")
    failed_attempts: int = setting(5, "looks at a Failed machine before it is stuck")
    failed_backoff_min: Seconds = setting(30.0, "first pause between two looks", least=0.001)
    failed_backoff_max: Seconds = setting(1800.0, "longest pause between two looks")
    failed_memory: Seconds = setting(
        7 * 24 * 3600.0,
        "how long failures of a machine are remembered that no provider lists",
        least=3600,
    )
    flap_limit: int = setting(3, "failures within flap_window after which it rests")
    flap_window: Seconds = setting(3600.0, "time meant by that, and how long it rests")
    of_provider: tuple[str, ...] = setting(
        (),
        "NAME.STATE=DURATION, such as aws.creating=30m: one provider's own creating, configuring, "
        "draining_extra, deleting or join; may be repeated",
    )


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    on_demand: Seconds = setting(600.0, "how long an unclaimed on-demand machine is kept")
    spot: Seconds = setting(60.0, "how long an unclaimed spot machine is kept")


@dataclass(frozen=True, slots=True)
class OfferingSettings:
    backoff_min: Seconds = setting(
        30.0, "first rest of an offering that is out of stock", least=0.001
    )
    backoff_max: Seconds = setting(900.0, "longest rest of an offering")
    stockout_patterns: tuple[str, ...] = setting((), "errors that also mean out of stock")


@dataclass(frozen=True, slots=True)
class ThrashSettings:
    window: Seconds = setting(
        1800.0, "how far back machines that go back and forth are looked for", least=0.001
    )
    dwell: Seconds = setting(
        600.0, "a machine that comes back to its cluster within this time is told"
    )
    hold: Seconds = setting(
        600.0, "how long Reclaims and Deletes are held where machines go back and forth; 0: never"
    )


@dataclass(frozen=True, slots=True)
class CostSettings:
    enabled: bool = setting(
        True, "add up what machines cost, hour by hour, in costs.db in data_dir, for 400 days"
    )
    imputed: tuple[str, ...] = setting(
        (),
        "TYPE=DOLLARS or CAPACITY=DOLLARS, such as metal.8=3.00: what machines with the price 0 "
        "are worth per hour, in a column of its own; may be repeated",
        reloadable=True,
    )
    teams: tuple[str, ...] = setting(
        (), "CLUSTER=TEAM, such as shop=retail: who pays; may be repeated", reloadable=True
    )


@dataclass(frozen=True, slots=True)
class VerifierSettings:
    enabled: bool = setting(
        True, "check every action independently of the engine before it is done", reloadable=True
    )
    freeze_windows: tuple[str, ...] = setting(
        (),
        "CRON for DURATION [cluster=A,B] [zone=A,B] [kind=Reclaim,Delete], such as '0 22 * * fri "
        "for 60h cluster=shop': no Reclaim and no Delete then (UTC); may be repeated",
        reloadable=True,
    )
    spend_ceiling: float = setting(
        0.0, "dollars per hour beyond which nothing is bought; 0: no ceiling", reloadable=True
    )
    reclaim_zone_fraction: float = setting(
        0.5,
        "part of a cluster's machines in one zone that may be reclaimed within a minute; 0: any, "
        "as where rails.reclaim_cap_fraction is 0",
        reloadable=True,
        most=1,
    )


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Passed through to the engine, whose page derives the numbers."""

    victim_weight_priority: float = setting(1.0, "what a point of priority counts for a victim")
    victim_weight_drain: float = setting(0.1, "what a short drain counts for a victim")
    victim_weight_interruption: float = setting(
        0.1, "what a low interruption penalty counts for a victim"
    )
    victim_weight_reclamation: float = setting(
        0.1, "what a low reclamation penalty counts for a victim"
    )
    drain_estimate: Seconds = setting(30.0, "how long a drain is thought to take")
    parking_after: int = setting(8, "cycles without progress after which a gang is parked")
    parking_probe: int = setting(32, "a parked gang is tried again every so many cycles", least=1)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    outbox_frames: int = setting(20_000, "unsent frames at which a session is ended")
    outbox_bytes: Bytes = setting(64 * 1024 * 1024, "unsent bytes at which a session is ended")
    stall_timeout: Seconds = setting(
        30.0, "age of an unsent frame at which a session is ended", least=0.001
    )
    available_capacity_interval: Seconds = setting(
        5.0, "pause between two hints of one profile", reloadable=True
    )


@dataclass(frozen=True, slots=True)
class ReportSettings:
    interval: Seconds = setting(10.0, "pause between two reports", reloadable=True, least=0.001)
    call_timeout: Seconds = setting(5.0, "deadline of a report", least=0.001)
    backoff_min: Seconds = setting(0.5, "first pause after a failure", least=0.001)
    backoff_max: Seconds = setting(15.0, "longest pause after failures")
    shortfall_limit: int = setting(100, "shortfalls in a report")


@dataclass(frozen=True, slots=True)
class JournalSettings:
    enabled: bool = setting(True, "record every cycle in the data dir, for replay and why")
    max_bytes: Bytes = setting(4 * 2**30, "what the journal may take; the oldest part goes first")
    max_age: Seconds = setting(72 * 3600.0, "how long a recorded cycle is kept")
    audit_log: str = setting("", "file of one JSON line per action; empty turns it off")
    audit_rotate: Bytes = setting(100 * 1024 * 1024, "size at which it is rotated")
    audit_files: int = setting(10, "rotated files that are kept")


@dataclass(frozen=True, slots=True)
class ShardSettings:
    listen: str = setting("127.0.0.1:7780", "where operators and the command line dial in")
    metrics_addr: str = setting("127.0.0.1:8780", "HTTP for metrics and probes; 0 turns it off")
    id: str = setting("shard-0", "this shard's name, for ever")
    data_dir: str = setting("./data", "epoch, state and logs")
    advertise_addr: str = setting("", "address others are told; empty: listen")
    provider_addr: tuple[str, ...] = setting((), "name=host:port, may be repeated")
    providers_from_registry: bool = setting(
        False, "attach every provider the coordinator has on its list"
    )
    label_defaults: tuple[str, ...] = setting(
        (),
        "[PROVIDER:]KEY=VALUE: a label of machines whose provider does not set it, of all providers"
        " or of one; [PROVIDER:]KEY- for none; without a word kubernetes.io/os=linux and"
        " kubernetes.io/arch=amd64; may be repeated",
    )
    coordinator_addr: tuple[str, ...] = setting((), "coordinators, may be repeated")
    ownership: str = setting("auto", "which machines are ours", choices=("auto", "all", "assigned"))
    cycle_interval: Seconds = setting(
        1.0, "pause between two decisions", reloadable=True, least=0.001
    )
    cycle_min_gap: Seconds = setting(0.1, "shortest pause between two decisions", reloadable=True)
    engine_timeout: Seconds = setting(30.0, "longest decision", least=0.001)
    regret_interval: Seconds = setting(
        60.0,
        "pause between two measurements of the regret; 0 turns the meter off",
        reloadable=True,
    )
    max_actions_per_cycle: int = setting(
        0, "actions started per cycle; 0: no limit", reloadable=True
    )
    dry_run: bool = setting(False, "decide and log, start nothing", reloadable=True)
    shutdown_grace: Seconds = setting(20.0, "time actions have to end at a stop")
    max_needs_per_rollup: int = setting(200_000, "rows a roll-up may have")
    workers: int = setting(0, "threads of a decision; 0: one per CPU")
    debug_endpoints: bool = setting(False, "serve /debug/ on the metrics address")
    execute: ExecuteSettings = ExecuteSettings()
    reconcile: ReconcileSettings = ReconcileSettings()
    rails: RailSettings = RailSettings()
    rollup: RollupSettings = RollupSettings()
    drain: DrainSettings = DrainSettings()
    deadlines: DeadlineSettings = DeadlineSettings()
    release: ReleaseSettings = ReleaseSettings()
    offerings: OfferingSettings = OfferingSettings()
    thrash: ThrashSettings = ThrashSettings()
    costs: CostSettings = CostSettings()
    verifier: VerifierSettings = VerifierSettings()
    session: SessionSettings = SessionSettings()
    report: ReportSettings = ReportSettings()
    journal: JournalSettings = JournalSettings()
    engine: EngineSettings = EngineSettings()


#: Of a shard: parts that follow a reload hold this.
CurrentShardSettings = CurrentSettings[ShardSettings]
