"""What holds back what a cycle decides for a Need is no input of the engine: it is lifted."""

from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner, Result

from bigfleet.cli.main import cli
from bigfleet.journal.history import LATEST, FoundCycle, cycle_at
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorded_holds import rails_of
from bigfleet.journal.segments import segments_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.counterfactuals import (
    CounterfactualAnswer,
    CounterfactualCall,
    part_of_cluster,
)
from bigfleet.model.needs import Need
from bigfleet.model.pauses import PauseScope
from bigfleet.model.shard_views import Disposition
from bigfleet.shard.driving.what_ifs import WhatIfs
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.shard.what_if_worker import COUNTERFACTUAL
from bigfleet.shard.what_if_worker import answered as worker_answer
from bigfleet.whatif.counterfactual_answers import answered
from bigfleet.wire.counterfactuals import call_bytes, read_answer
from tests.questions.recorded_night import RecordedShard, report, settlement, web

OF_SHOP = PauseScope(cluster_ids=("shop",), kinds=(ActionKind.PREEMPT,))


def recorded(directory: Path) -> tuple[RecordedShard, JournalFile]:
    file = JournalFile(directory, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    return RecordedShard(file), file


def paused_preemption(directory: Path, *more: PauseRequest) -> tuple[RecordedShard, JournalFile]:
    """The shop has six machines, two more are free; `payments` needs one of the shop's."""
    shard, file = recorded(directory)
    shard.sold_out = "m5.2xlarge"
    shard.report("shop", web(30))
    shard.until("2:42")
    shard.report("payments", settlement(3))
    for pause in (PauseRequest("ada", "web first", OF_SHOP, 3600, pause_id="p1"), *more):
        shard.pause(pause)
    shard.run_recorded(8)
    return shard, file


def last_cycle(directory: Path) -> FoundCycle:
    found = cycle_at(segments_of(directory), LATEST)
    assert found is not None
    return found


def asked(
    found: FoundCycle, need: Need, depth: int = 1, tried: bool = False
) -> CounterfactualAnswer:
    call = CounterfactualCall(need.key, 0, 30_000, depth, "", tried)
    rails = rails_of(found.recorded, found.header.shard_id)
    return answered(found.recorded.given, call, found.name, lambda: 0.0, rails)


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, list(arguments))


def test_a_pause_is_named_with_its_owner_its_reason_and_the_command(tmp_path: Path) -> None:
    _, file = paused_preemption(tmp_path)
    file.close()
    found = last_cycle(tmp_path)
    answer = asked(found, settlement(3))
    (change,) = answer.changes
    assert not answer.met
    assert change.satisfied
    assert change.kinds == ("pause",)
    assert change.change == (
        "pause p1 lifted (Preempt of cluster shop, by ada: web first, until 2026-03-14T03:42:00Z)"
    )
    assert change.command == "bigfleet resume p1 --reason WHY"
    assert change.preempts == 1
    assert change.declared_penalties == 5.0
    assert [each.need.cluster for each in change.losers] == ["shop"]
    shown = run("why", "need/payments/n", "--journal", str(tmp_path), "--counterfactual")
    assert shown.stdout.startswith("BLOCKED  need/payments/n")
    assert "do 1:  bigfleet resume p1 --reason WHY" in shown.stdout


def test_what_it_names_helps_and_less_does_not(tmp_path: Path) -> None:
    shard, file = paused_preemption(tmp_path)
    assert len(shard.of("payments")) == 2
    shard.run_recorded(20)
    assert len(shard.of("payments")) == 2
    shard.resume("p1")
    shard.run_recorded(20)
    assert len(shard.of("payments")) == 3
    file.close()
    answer = asked(last_cycle(tmp_path), settlement(3))
    assert answer.met
    assert answer.changes == ()


def test_a_pause_of_another_cluster_is_not_in_its_way(tmp_path: Path) -> None:
    shard, file = recorded(tmp_path)
    shard.pause(PauseRequest("ada", "drill", PauseScope(cluster_ids=("ml",)), pause_id="p1"))
    shard.report("batch", report(1))
    shard.run_recorded(1)
    file.close()
    assert asked(last_cycle(tmp_path), report(1)).met


def test_a_machine_that_is_created_waits_for_a_pause_of_bootstraps(tmp_path: Path) -> None:
    """No action is decided for it in this cycle, and the pause will stop the next one."""
    shard, file = recorded(tmp_path)
    shard.report("batch", report(1))
    shard.run_recorded(1)
    bootstraps = PauseScope(kinds=(ActionKind.BOOTSTRAP,))
    shard.pause(PauseRequest("ada", "drill", bootstraps, pause_id="p1"))
    shard.run_recorded(2)
    file.close()
    (change,) = asked(last_cycle(tmp_path), report(1)).changes
    assert change.satisfied
    assert change.command == "bigfleet resume p1 --reason WHY"
    assert change.delta_hourly_cost == 0.0


def test_two_pauses_help_only_together(tmp_path: Path) -> None:
    preempts = PauseScope(kinds=(ActionKind.PREEMPT,))
    _, file = paused_preemption(tmp_path, PauseRequest("bob", "night", preempts, pause_id="p2"))
    file.close()
    found = last_cycle(tmp_path)
    alone = asked(found, settlement(3), tried=True)
    assert [(each.kinds, each.satisfied) for each in alone.changes] == [(("pause",), False)] * 2
    assert alone.notes[-1].startswith("2 holds stand in its way, and all must be lifted: pause p1")
    (pair,) = asked(found, settlement(3), depth=2).changes
    assert pair.satisfied
    assert pair.kinds == ("pause", "pause")


def test_a_rail_is_named_with_what_lifts_it(tmp_path: Path) -> None:
    """As a shard in dry-run, or its verifier, records it."""
    shard, file = recorded(tmp_path)
    shard.report("batch", report(1))
    shard.run_recorded(1)
    file.close()
    found = last_cycle(tmp_path)
    output = found.recorded.output
    assert output is not None
    for rail, disposition, command in (
        (
            "rail.dry-run",
            Disposition.DRY_RUN,
            "set dry_run: false for the shard and send it SIGHUP",
        ),
        ("rail.verifier", Disposition.VETOED, "bigfleet reports verifier"),
    ):
        held = [
            replace(v, disposition=disposition, rail=rail, outcome="why") for v in output.actions
        ]
        recorded_so = replace(found.recorded, output=replace(output, actions=tuple(held)))
        (change,) = asked(replace(found, recorded=recorded_so), report(1)).changes
        assert change.kinds == ("rail",)
        assert change.change == f"{rail} lifted (why)"
        assert change.command == command
        assert change.delta_hourly_cost == 0.29


def test_a_need_that_is_short_too_is_told_what_holds_it_back_beside(tmp_path: Path) -> None:
    shard, file = recorded(tmp_path)
    shard.pause(PauseRequest("ada", "drill", pause_id="p1"))
    shard.report("batch", report(9))
    shard.run_recorded(1)
    file.close()
    answer = asked(last_cycle(tmp_path), report(9))
    assert not answer.met
    assert all("pause" not in change.kinds for change in answer.changes)
    assert answer.notes[-1].startswith(
        "held back as well: pause p1 lifted (everything, by ada: drill"
    )


async def test_a_live_shard_tells_its_last_cycle_with_what_held_it_back(tmp_path: Path) -> None:
    shard, file = paused_preemption(tmp_path)
    file.close()
    finished = shard.state.decision_loop.finished
    assert finished is not None
    processes = WhatIfs("shard-0", 1, None)
    try:
        call = CounterfactualCall(settlement(3).key, 0, 30_000)
        answer = await processes.counterfactual(call, finished)
    finally:
        await processes.close()
    assert [change.command for change in answer.changes] == ["bigfleet resume p1 --reason WHY"]


def test_the_process_that_answers_for_a_shard_knows_them_too(tmp_path: Path) -> None:
    _, file = paused_preemption(tmp_path)
    file.close()
    found = last_cycle(tmp_path)
    place = {"journal": str(tmp_path), "epoch": 1, "cycle": found.recorded.given.cycle}
    call = CounterfactualCall(settlement(3).key, found.recorded.given.cycle, 30_000)
    code, content = worker_answer({"question": COUNTERFACTUAL, **place}, [call_bytes(call)])
    assert code == ""
    answer = read_answer(content)
    assert answer.changes == asked(found, settlement(3)).changes
    assert part_of_cluster(answer, "payments").changes == ()
