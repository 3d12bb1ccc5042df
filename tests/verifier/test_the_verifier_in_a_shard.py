"""The verifier as the last rail of a shard: what it stops, what it remembers and who is told."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.options import SECOND
from bigfleet.model.shard_admin import Audit
from bigfleet.model.shard_views import Disposition
from bigfleet.model.verifier_views import VerifierPolicy
from bigfleet.shard.cycle import Deliberation, deliberate
from bigfleet.shard.effects import VERIFIER
from bigfleet.shard.rails import verification
from bigfleet.shard.rails.verification import POLICY
from bigfleet.shard.settings import RailSettings, ShardSettings, VerifierSettings
from tests.shard_cases.rig import SHOP, Rig, cores, machine

S = MachineState
#: A cycle may reclaim everything, as far as the rails go.
UNCAPPED = RailSettings(reclaim_cap_fraction=1.0)


def slot(name: str, price: float = 1.0) -> Machine:
    bare = machine(name, S.SPECULATIVE)
    return replace(bare, host=Host(), price_per_hour=price)


def shard(*machines: Machine, **chosen: object) -> Rig:
    settings = ShardSettings(rails=UNCAPPED, verifier=VerifierSettings(**chosen))  # type: ignore[arg-type]
    return Rig(settings, machines)


def dispositions(rig: Rig) -> dict[str, Disposition | None]:
    return {view.machine: view.disposition for view in rig.state.decision_loop.actions}


def run_with(rig: Rig, *more: Action) -> None:
    """A cycle of an engine that asks for something more."""
    thought = deliberate(rig.state.begin_cycle(rig.at), map, lambda: 0.0)
    rig.obey(rig.state.end_cycle(_asking(thought, more), rig.at, 0.0))
    rig.at += SECOND


def _asking(thought: Deliberation, more: Sequence[Action]) -> Deliberation:
    places = [*thought.considered.places.tolist(), *range(len(more))]
    considered = replace(thought.considered, places=np.array(places, np.int64))
    return replace(
        thought,
        actions=(*thought.actions, *more),
        sentences=(*thought.sentences, *("because" for _ in more)),
        reasons=(*thought.reasons, *(() for _ in more)),
        bill_changes=(*thought.bill_changes, *(0.0 for _ in more)),
        considered=considered,
    )


METAL = replace(machine("metal", S.IDLE), capacity_type=CapacityType.BARE_METAL)
DELETE_METAL = Action(ActionKind.DELETE, "metal", "", Rule.RELEASE)


def test_what_the_engine_must_never_ask_for_is_an_incident() -> None:
    rig = shard(METAL)
    rig.report()
    run_with(rig, DELETE_METAL)
    assert dispositions(rig) == {"metal": Disposition.VETOED}
    assert rig.states() == {"metal": S.IDLE}
    (log,) = rig.logs("verifier_incident")
    assert log.level == "error"
    assert "Delete of metal vetoed (V2): BareMetal capacity is never deleted" in log.text
    assert rig.counts.of("verifier_incidents_total", invariant="V2") == 1
    assert rig.counts.of("verifier_vetoes_total", invariant="V2", kind="Delete") == 1
    status = rig.state.status()
    assert (status.verifier_incidents, status.verifier_error) == (1, "")
    assert status.verifier_incident.startswith("Delete of metal vetoed (V2)")
    events, _ = rig.state.machine_views.story("metal", 0, 0)
    assert "vetoed by the verifier (V2)" in events[-1].text


def test_an_incident_that_comes_again_every_cycle_is_told_once() -> None:
    rig = shard(METAL)
    rig.report()
    for _ in range(3):
        run_with(rig, DELETE_METAL)
    assert len(rig.logs("verifier_incident")) == rig.state.status().verifier_incidents == 1
    assert rig.counts.of("verifier_incidents_total", invariant="V2") == 3
    view = rig.state.parts.verification.view(rig.at)
    assert view.vetoes == {"V2": 3}
    assert [each.machine for each in view.last_incidents] == ["metal"]


def test_with_the_verifier_off_nothing_is_vetoed() -> None:
    rig = shard(METAL, enabled=False)
    rig.report()
    with pytest.raises(AssertionError, match="only clusters are served"):
        run_with(rig, DELETE_METAL)


def test_a_need_that_waits_for_the_spend_ceiling_is_blocked_and_says_what_lifts_it() -> None:
    rig = shard(slot("a", 3.0), slot("b", 3.0), machine("c", S.IDLE), spend_ceiling=3.5)
    rig.report(24)
    rig.cycle()
    assert dispositions(rig)["a"] is dispositions(rig)["b"] is Disposition.VETOED
    (row,) = rig.state.decision_loop.ledger.listing(SHOP, 0, (), "").rows
    assert row.state is NeedState.BLOCKED
    assert row.reason.code == "rail.verifier"
    assert "over the ceiling of $3.50/h" in row.reason.text
    assert row.remedy == "raise shard.verifier.spend_ceiling, or give machines back"
    assert rig.state.status().verifier_incidents == 0


def test_short_cycles_do_not_void_the_cap_of_a_zone() -> None:
    known = [machine(f"m-{i}", S.CONFIGURED, SHOP) for i in range(6)]
    rig = shard(*known)
    rig.report()
    for _ in range(10):
        rig.cycle()
    told = Counter(dispositions(rig).values())
    assert told == {Disposition.ENQUEUED: 3, Disposition.VETOED: 3}
    assert len(rig.state.parts.drains.reclaiming()) == 3
    rig.at += 61 * SECOND
    rig.cycle()
    assert len(rig.state.parts.drains.reclaiming()) > 3


def test_a_machine_that_changed_while_the_cycle_ran_is_decided_anew() -> None:
    rig = shard(machine("m", S.IDLE))
    rig.report(4)
    given = rig.state.begin_cycle(rig.at)
    known = rig.state.parts.machines.truth("m")
    rig.state.parts.machines.step(replace(known, labels={"disk": "slow"}), rig.at, "refreshed")
    rig.end_cycle(given)
    assert dispositions(rig) == {"m": Disposition.VETOED}
    assert rig.counts.of("verifier_vetoes_total", invariant="V10", kind="Bootstrap") == 1
    rig.cycle()
    assert rig.states() == {"m": S.CONFIGURED}


def test_a_price_that_moved_while_the_cycle_ran_changes_nothing() -> None:
    rig = shard(machine("m", S.IDLE))
    rig.report(4)
    given = rig.state.begin_cycle(rig.at)
    known = rig.state.parts.machines.truth("m")
    rig.state.parts.machines.step(replace(known, price_per_hour=1.5), rig.at, "refreshed")
    rig.insert(machine("a", S.CONFIGURED, SHOP))  # and rows have shifted
    rig.end_cycle(given)
    assert rig.states()["m"] is S.CONFIGURED


def test_where_the_verifier_fails_nothing_is_taken_and_what_is_asked_for_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(verification, "verify", fails)
    rig = shard(machine("mine", S.CONFIGURED, SHOP), replace(machine("free", S.IDLE)))
    big = replace(machine("wide", S.IDLE), resources=cores(64))
    rig.insert(big)
    rig.report(64)
    run_with(rig, Action(ActionKind.DELETE, "free", "", Rule.RELEASE))
    found = dispositions(rig)
    assert found["free"] is Disposition.VETOED
    assert found["wide"] is Disposition.ENQUEUED
    assert len(rig.logs("verifier_failed")) == 1
    assert rig.state.status().verifier_error == "ZeroDivisionError: by zero"
    assert rig.counts.of("verifier_errors_total") == 1
    rig.cycle()
    assert len(rig.logs("verifier_failed")) == 1, "told once a minute"
    monkeypatch.undo()
    rig.insert(METAL)
    run_with(rig, DELETE_METAL)
    assert rig.state.status().verifier_error == ""


def test_a_policy_that_was_set_is_in_force_after_a_restart() -> None:
    rig = shard(machine("m", S.IDLE))
    part, policy = rig.state.parts.verification, VerifierPolicy(("0 0 * * * for 1h",), 9.0, 0.0)
    row = part.row_of(policy, Audit("ada", "sale"), rig.at)
    assert row is not None
    again = Rig(ShardSettings(), (), {VERIFIER: {POLICY: row}})
    view = again.state.parts.verification.view(again.at)
    assert (view.policy, view.set_by, view.set_at) == (policy, Audit("ada", "sale"), rig.at)
    again.state.parts.verification.take(None, Audit("bob", "over"), again.at)
    assert again.state.parts.verification.view(again.at).policy == VerifierPolicy()


@pytest.mark.parametrize("row", [b"", b"{}", b'{"freeze_windows": ["?"]}'])
def test_a_kept_policy_that_cannot_be_read_is_dropped_and_told(row: bytes) -> None:
    rig = Rig(ShardSettings(), (), {VERIFIER: {POLICY: row}})
    assert len(rig.logs("verifier_policy_unreadable")) == 1
    assert rig.state.parts.verification.view(rig.at).set_by is None
