"""Worked cases H22, H23, H29 to H32: what is decided while nothing may start, and what is written
about it.
"""

from dataclasses import replace

from bigfleet.model.machines import MachineState as S
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.shard_cases.rig import SHOP, Rig, machine

PAUSED = ShardSettings(rails=RailSettings(actuation_paused=True))
DRY_RUN = ShardSettings(dry_run=True)


def two_idle(settings: ShardSettings) -> Rig:
    """Two machines that serve no cluster yet."""
    return Rig(settings, [machine("idle-1", S.IDLE), machine("idle-2", S.IDLE)])


def counted(rig: Rig, name: str) -> float:
    kinds = ("Bootstrap", "Provision", "Reclaim", "Preempt", "Delete")
    return sum(rig.counts.of(name, kind=kind) for kind in kinds)


def test_h22_paused_decides_every_cycle_and_starts_nothing() -> None:
    rig = two_idle(PAUSED)
    rig.report(16)
    before = rig.states()
    for _ in range(3):
        rig.cycle()
    assert rig.states() == before
    assert counted(rig, "actions_suppressed_total") == 6
    assert counted(rig, "actions_total") == 0
    assert rig.counts.of("actuation_paused") == 1
    assert rig.calls() == []


def test_h22_paused_reclaims_are_decided_and_held_back_too() -> None:
    bound = [machine(f"m-{i}", S.CONFIGURED, SHOP) for i in range(4)]
    rig = Rig(PAUSED, bound)
    rig.report()
    for _ in range(3):
        rig.cycle()
    assert set(rig.states().values()) == {S.CONFIGURED}
    assert rig.counts.of("actions_suppressed_total", kind="Reclaim") == 12
    assert rig.counts.of("reclaims_capped_total") == 0


def test_h23_dry_run_decides_and_says_so_line_by_line() -> None:
    rig = two_idle(DRY_RUN)
    rig.report(16)
    for _ in range(3):
        rig.cycle()
    assert set(rig.states().values()) == {S.IDLE}
    assert counted(rig, "actions_dryrun_total") == 6
    assert counted(rig, "actions_suppressed_total") == 0
    lines = rig.logs("dry_run")
    assert len(lines) == 6
    assert {line.facts["cluster"] for line in lines} == {SHOP}
    assert all(line.facts["reason"] for line in lines)


def test_h23_pause_wins_where_both_apply() -> None:
    rig = two_idle(replace(PAUSED, dry_run=True))
    rig.report(16)
    rig.cycle()
    assert counted(rig, "actions_suppressed_total") == 2
    assert counted(rig, "actions_dryrun_total") == 0


def test_h29_an_executed_bootstrap_is_written_with_all_it_was() -> None:
    rig = two_idle(ShardSettings())
    rig.report(8)
    rig.cycle()
    (line,) = rig.audit()
    assert sorted(rig.states().values()) == [S.IDLE, S.CONFIGURED]
    assert line["reason"]
    assert line | {"reason": ""} == {
        "time": "2023-11-14T22:13:20Z",
        "cycle": 1,
        "kind": "Bootstrap",
        "machine": "idle-1",
        "cluster": SHOP,
        "reason": "",
        "grace_seconds": 0,
        "disposition": "enqueued",
        "outcome": "success",
    }


def test_h30_paused_actions_are_written_as_suppressed() -> None:
    rig = two_idle(PAUSED)
    rig.report(16)
    rig.cycle()
    assert [line["outcome"] for line in rig.audit()] == ["suppressed", "suppressed"]


def test_h31_dry_run_actions_are_written_as_dryrun() -> None:
    rig = two_idle(DRY_RUN)
    rig.report(16)
    rig.cycle()
    assert [line["outcome"] for line in rig.audit()] == ["dryrun", "dryrun"]


def test_h32_paused_with_demand_nothing_can_meet_still_records_the_shortfall() -> None:
    rig = two_idle(PAUSED)
    rig.report(800)
    rig.cycle()
    rig.cycle()
    ((_, shortfall),) = rig.state.decision_loop.memory.shortfalls.items()
    assert shortfall.age == 2
    assert len(rig.state.parts.shortfalls) == 1
