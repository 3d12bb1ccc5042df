"""Views, instructions and releases, on disk before they are acted on and through a restart."""

from collections.abc import Iterable, Mapping

import pytest

from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Done,
    InstructionKind,
    NotYet,
    Refused,
)
from bigfleet.model.ownership import (
    PROVIDER_KEY,
    MachineOverride,
    Ownership,
    OwnershipView,
    Pair,
)
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.shard.coordination.owned_machines import (
    KEY,
    ownership_of,
    row_of_ownership,
)
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.instructions import Instruction, Log, Persist
from tests.ownership.sharing import takes_over, view
from tests.reconciling.rig import CONFIGURED, IDLE, Rig, record

ZONE: Pair = (ZONE_KEY, "eu-1a")
PROVIDER: Pair = (PROVIDER_KEY, "acme:9000")
COVERED = ("acme:9000",)
ME = "shard-0"


class OwnershipRig:
    """A shard's ownership, and the disk it lives on."""

    def __init__(self, disk: Mapping[str, bytes] | None = None, *, alone: bool = False) -> None:
        self.disk = dict(disk or {})
        known = Ownership(ME) if alone else ownership_of(ME, self.disk.get(KEY))[0]
        self.said: list[Log] = []
        self.rig = rig = Rig(
            ownership=known,
            addresses={"acme": "acme:9000"},
            stored={COORDINATION: self.disk},
        )
        self.owned_machines = rig.parts.owned_machines
        self.obey(rig.asked_at_start)

    def obey(self, asked: Iterable[Instruction] | None = None) -> None:
        for each in self.rig.effects.taken() if asked is None else asked:
            if isinstance(each, Log):
                self.said.append(each)
            elif isinstance(each, Persist) and each.table == COORDINATION:
                assert each.value is not None
                self.disk[each.key] = each.value

    def takes(self, newer: OwnershipView) -> None:
        self.disk[KEY] = self.owned_machines.row_of(newer, COVERED)
        self.owned_machines.take_view(newer, COVERED, self.rig.now)
        takes_over(self.rig)
        self.obey()

    def told(self, kind: InstructionKind, pair: Pair) -> Done | NotYet | Refused:
        key, value = pair
        order = CoordinatorInstruction("dom-1/x", kind, topology_key=key, topology_value=value)
        handle = (
            self.owned_machines.assign
            if kind is InstructionKind.ASSIGN_DOMAIN
            else self.owned_machines.unassign
        )
        answer = handle(order, self.rig.now)
        takes_over(self.rig)
        self.obey()
        return answer

    def gives_up(self, pair: Pair) -> Done | NotYet | Refused:
        return self.told(InstructionKind.UNASSIGN_DOMAIN, pair)

    def again(self) -> "OwnershipRig":
        return OwnershipRig(self.disk)

    @property
    def ownership(self) -> Ownership:
        return self.owned_machines.ownership


def living(first: OwnershipView) -> OwnershipRig:
    life = OwnershipRig()
    life.takes(first)
    return life


# -- views -----------------------------------------------------------------------------------------


def test_a_view_that_is_on_disk_is_what_the_next_life_begins_with() -> None:
    life = living(view(7, default="shard-1", eu_1a=ME, eu_1b=""))
    assert life.rig.count("ownership_revision") == 7
    again = life.again()
    assert again.ownership == life.ownership
    again.rig.lists(record("ours"), record("theirs", zone="eu-1b"))
    assert again.rig.ids() == ["ours"]


def test_everything_that_is_owned_comes_back_from_disk() -> None:
    life = living(
        OwnershipView.of(
            3,
            ["rack"],
            {ZONE: ME, ("rack", "r1"): "shard-1"},
            [MachineOverride("m", ME, "shard-1", "t1")],
            {"acme:9000": ME},
        )
    )
    life.takes(OwnershipView.of(4, ["rack"], {ZONE: "", ("rack", "r1"): ""}, [], {}))
    life.takes(OwnershipView.of(5, ["rack"], {ZONE: "", ("rack", "r2"): ME}, [], {}))
    life.owned_machines.release(["given"], "t2", life.rig.now)
    life.gives_up(("rack", "r2"))
    assert life.ownership.lingering
    assert life.ownership.past
    assert life.ownership.unconfirmed
    assert life.again().ownership == life.ownership


def test_an_older_view_changes_nothing() -> None:
    life = living(view(7, eu_1a=ME))
    life.takes(view(6, eu_1a="shard-1"))
    assert life.ownership.owns("m", {ZONE_KEY: "eu-1a"}.get, "acme:9000")
    assert life.again().ownership.revision == 7


def test_what_changed_while_a_view_was_written_is_not_lost() -> None:
    """A release between the row and the view: the row on disk does not know of it."""
    life = living(view(1, eu_1a=ME))
    newer = view(2, eu_1a=ME)
    row = life.owned_machines.row_of(newer, COVERED)
    life.owned_machines.release(["m"], "t1", life.rig.now)
    life.obey()
    life.disk[KEY] = row
    life.owned_machines.take_view(newer, COVERED, life.rig.now)
    life.obey()
    assert life.ownership.released == {"m": "t1"}
    assert life.again().ownership == life.ownership


@pytest.mark.parametrize("row", [b"{", b"{}", b'{"shard": 7}', b"[]"])
def test_a_row_that_cannot_be_read_owns_nothing_and_says_so(row: bytes) -> None:
    life = OwnershipRig({KEY: row})
    assert not life.ownership.known
    assert [(each.level, each.event) for each in life.said] == [("error", "ownership_unreadable")]
    life.rig.lists(record("m"))
    assert life.rig.ids() == []


def test_a_row_of_another_shard_is_ignored() -> None:
    other = row_of_ownership(Ownership("shard-9", everything=False).newer(view(1), COVERED))
    life = OwnershipRig({KEY: other})
    assert not life.ownership.known
    assert "of shard shard-9" in life.said[0].text


def test_a_shard_that_owns_everything_keeps_doing_so() -> None:
    life = OwnershipRig(alone=True)
    life.takes(view(3, eu_1a="shard-1"))
    life.rig.lists(record("m"))
    assert life.rig.ids() == ["m"]
    assert life.told(InstructionKind.ASSIGN_DOMAIN, ZONE) == Done()
    assert isinstance(life.gives_up(ZONE), Refused)


# -- domains ---------------------------------------------------------------------------------------


def test_an_assigned_domain_is_acknowledged_when_a_view_gives_it() -> None:
    life = OwnershipRig()
    assert isinstance(life.told(InstructionKind.ASSIGN_DOMAIN, ZONE), NotYet)
    life.takes(view(1, eu_1a=""))
    assert isinstance(life.told(InstructionKind.ASSIGN_DOMAIN, ZONE), NotYet)
    life.takes(view(2, eu_1a=ME))
    assert life.told(InstructionKind.ASSIGN_DOMAIN, ZONE) == Done()


def test_a_domain_that_is_taken_away_is_left_at_once_and_acknowledged_when_it_is_empty() -> None:
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("idle"), record("busy", CONFIGURED))
    answer = life.gives_up(ZONE)
    assert isinstance(answer, NotYet)
    assert life.rig.ids() == ["busy"]
    life.takes(view(2, eu_1a=""))
    answer = life.gives_up(ZONE)
    assert isinstance(answer, NotYet)
    assert answer.why == (
        "1 machines in topology.kubernetes.io/zone=eu-1a are still bound, pending or draining"
    )
    life.rig.lists(record("idle"), record("busy", IDLE))
    assert life.gives_up(ZONE) == Done()
    assert life.rig.ids() == []
    assert not life.ownership.lingering
    assert life.again().ownership == life.ownership


def test_it_is_not_acknowledged_on_the_word_of_the_instruction_alone() -> None:
    """A view that was made before may still come, and would give back what was given up."""
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("idle"))
    answer = life.gives_up(ZONE)
    assert isinstance(answer, NotYet)
    assert "on its way" in answer.why
    assert isinstance(life.again().gives_up(ZONE), NotYet)
    life.takes(view(2, eu_1a=""))
    assert life.gives_up(ZONE) == Done()


def test_a_domain_of_the_default_owner_waits_for_the_view_that_has_it() -> None:
    life = living(view(1, default="shard-1"))
    assert isinstance(life.gives_up(ZONE), NotYet)
    assert isinstance(OwnershipRig().gives_up(ZONE), NotYet)


def test_a_provider_is_given_up_like_a_domain() -> None:
    life = living(OwnershipView.of(1, default_owners={"acme:9000": ME}))
    life.rig.lists(record("busy", CONFIGURED))
    life.takes(OwnershipView.of(2, default_owners={"acme:9000": ""}))
    answer = life.gives_up(PROVIDER)
    assert isinstance(answer, NotYet)
    assert answer.why.startswith("1 machines in provider acme:9000")
    life.rig.lists(record("busy", IDLE))
    life.rig.reconciler.tick(life.rig.now)
    assert life.gives_up(PROVIDER) == Done()


def test_after_a_restart_nothing_is_acknowledged_before_a_list() -> None:
    """What serves there is not known before."""
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("busy", CONFIGURED))
    life.takes(view(2, eu_1a=""))
    again = life.again()
    answer = again.gives_up(ZONE)
    assert isinstance(answer, NotYet)
    assert "listed" in answer.why
    again.rig.lists(record("busy", CONFIGURED))
    answer = again.gives_up(ZONE)
    assert isinstance(answer, NotYet)
    assert answer.why.startswith("1 machines")


def test_it_is_not_acknowledged_while_machines_are_leaving() -> None:
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("idle"))
    newer = view(2, eu_1a="")
    life.owned_machines.row_of(newer, COVERED)
    life.owned_machines.take_view(newer, COVERED, life.rig.now)
    order = CoordinatorInstruction(
        "dom-1/unassign",
        InstructionKind.UNASSIGN_DOMAIN,
        topology_key=ZONE_KEY,
        topology_value="eu-1a",
    )
    assert isinstance(life.owned_machines.unassign(order, life.rig.now), NotYet)
    takes_over(life.rig)
    assert life.gives_up(ZONE) == Done()


def test_it_is_not_acknowledged_while_a_transfer_of_machines_is_undecided() -> None:
    """The next owner of the domain would own them, until it hears to whom they were granted."""
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("m"))
    life.owned_machines.release(["m"], "t1", life.rig.now)
    life.takes(view(2, eu_1a=""))
    answer = life.gives_up(ZONE)
    assert isinstance(answer, NotYet)
    assert answer.why == "1 machines are released to undecided transfers"
    row = MachineOverride("m", "shard-1", ME, "t1")
    life.takes(OwnershipView.of(3, domains={ZONE: ""}, overrides=[row]))
    assert life.gives_up(ZONE) == Done()


def test_a_domain_that_another_shard_has_by_now_is_acknowledged() -> None:
    life = living(view(5, eu_1a="shard-1"))
    life.rig.lists(record("m", CONFIGURED))
    assert life.gives_up(ZONE) == Done()


# -- single machines -------------------------------------------------------------------------------


def test_released_machines_leave_at_once_and_come_back_when_the_transfer_is_off() -> None:
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("m"), record("other"))
    life.owned_machines.release(["m"], "t1", life.rig.now)
    life.obey()
    assert life.rig.ids() == ["other"]
    again = life.again()
    again.rig.lists(record("m"), record("other"))
    assert again.rig.ids() == ["other"]
    again.owned_machines.readopt("t2", again.rig.now)
    assert again.owned_machines.listed_since_view()
    again.owned_machines.readopt("t1", again.rig.now)
    again.obey()
    assert not again.owned_machines.listed_since_view()
    again.rig.lists(record("m"), record("other"))
    assert again.rig.ids() == ["m", "other"]
    assert again.owned_machines.listed_since_view()
    assert again.again().ownership.released == {}


def test_an_earlier_mark_is_reached_in_spite_of_later_ones() -> None:
    life = living(view(1, eu_1a=ME))
    life.rig.lists(record("m"))
    life.takes(view(2, eu_1a=ME, eu_1b=ME))
    mark = life.owned_machines.mark
    early = life.rig.read([record("m")])
    life.takes(view(3, eu_1a=ME, eu_1b=ME, eu_1c=ME))
    life.rig.arrived(early, life.rig.now)
    assert life.owned_machines.listed_since_view(mark)
    assert not life.owned_machines.listed_since_view()


def test_held_are_machines_that_came_by_name_and_marks_of_released_ones() -> None:
    came = MachineOverride("came", ME, "shard-1", "t1")
    gone = MachineOverride("gone", "shard-1", ME, "t2")
    home = MachineOverride("home", ME, ME, "t3")
    strange = MachineOverride("strange", ME, ME, "t4")
    life = living(OwnershipView.of(1, domains={ZONE: ME}, overrides=[came, gone, home, strange]))
    life.rig.lists(record("came"), record("home"), record("strange", zone="eu-1b"))
    life.owned_machines.release(["m"], "t5", life.rig.now)
    assert life.owned_machines.held_overrides() == (
        came,
        strange,
        MachineOverride("m", "", ME, "t5"),
    )


def test_a_machine_that_was_not_listed_yet_is_held_to_be_sure() -> None:
    home = MachineOverride("home", ME, ME, "t3")
    life = living(OwnershipView.of(1, domains={ZONE: ME}, overrides=[home]))
    assert life.owned_machines.held_overrides() == (home,)
    assert OwnershipRig().owned_machines.held_overrides() == ()


def test_a_row_is_held_while_its_domain_changes_hands() -> None:
    """Without the row the machine would be the next owner's."""
    home = MachineOverride("home", ME, ME, "t3")
    life = living(OwnershipView.of(1, domains={ZONE: ME}, overrides=[home]))
    life.rig.lists(record("home"))
    assert life.owned_machines.held_overrides() == ()
    life.takes(OwnershipView.of(2, domains={ZONE: ""}, overrides=[home]))
    assert life.owned_machines.held_overrides() == (home,)


def test_held_pairs_are_domains_and_providers_what_is_being_given_up_included() -> None:
    other = (ZONE_KEY, "eu-1b")
    rows = {ZONE: ME, other: ME, (ZONE_KEY, "eu-1c"): "shard-1"}
    life = living(OwnershipView.of(1, domains=rows, default_owners={"acme:9000": ME, "b:1": ""}))
    life.takes(OwnershipView.of(2, domains={**rows, other: ""}, default_owners={"acme:9000": ME}))
    assert life.owned_machines.held_pairs() == (PROVIDER, ZONE, other)
    assert OwnershipRig().owned_machines.held_pairs() == ()
