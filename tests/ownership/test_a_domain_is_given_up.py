"""What lingers: occupied machines of a pair that was taken away, and nothing that is new."""

from bigfleet.model.ownership import (
    PROVIDER_KEY,
    MachineOverride,
    Ownership,
    OwnershipView,
    Pair,
)

ACME = "acme:1"
RACK, ZONE = ("rack", "r1"), ("zone", "z1")
PROVIDER = (PROVIDER_KEY, ACME)
KEYS = ("rack", "zone")


def view(
    revision: int,
    domains: dict[Pair, str] | None = None,
    default: str | None = None,
    overrides: tuple[MachineOverride, ...] = (),
) -> OwnershipView:
    owners = {} if default is None else {ACME: default}
    return OwnershipView.of(revision, KEYS, domains or {}, overrides, owners)


def shard(first: OwnershipView, *later: OwnershipView) -> Ownership:
    """`us`, with these views one after the other."""
    ownership = Ownership("us", everything=False)
    for each in (first, *later):
        ownership = ownership.newer(each, [ACME])
    return ownership


def owns(ownership: Ownership, *, occupied: bool, machine: str = "m", **labels: str) -> bool:
    return ownership.owns(machine, labels.get, ACME, occupied=occupied)


def lingers_in(ownership: Ownership, machine: str = "m", **labels: str) -> tuple[Pair, ...]:
    return ownership.lingers_in(machine, labels.get, ACME)


def test_only_what_is_occupied_stays_ours() -> None:
    after = shard(view(1, {ZONE: "us"}), view(2, {ZONE: ""}))
    assert owns(after, occupied=True, zone="z1")
    assert not owns(after, occupied=False, zone="z1")
    assert lingers_in(after, zone="z1") == (ZONE,)
    assert lingers_in(after, zone="z2") == ()


def test_the_default_owner_keeps_what_serves_in_a_domain_that_is_new() -> None:
    after = shard(view(1, default="us"), view(2, {ZONE: ""}, "us"))
    assert owns(after, occupied=True, zone="z1")
    assert not owns(after, occupied=False, zone="z1")
    assert owns(after, occupied=False, zone="z2")


def test_of_a_domain_that_was_anothers_nothing_lingers() -> None:
    after = shard(view(1, {ZONE: "them"}, "us"), view(2, {ZONE: ""}, "us"))
    assert not owns(after, occupied=True, zone="z1")
    assert not after.lingering


def test_everything_on_the_way_to_the_owner_lingers_with_the_machine() -> None:
    """Neither the zone nor the provider may be let go of while it is occupied."""
    after = shard(view(1, default="us"), view(2, {ZONE: ""}, "us"), view(3, {ZONE: ""}, ""))
    assert lingers_in(after, zone="z1") == (ZONE, PROVIDER)
    assert lingers_in(after) == (PROVIDER,)


def test_it_ends_when_the_pair_has_an_owner_or_is_not_asked_for() -> None:
    lingering = shard(view(1, {ZONE: "us"}), view(2, {ZONE: ""}))
    assert not shard(view(1, {ZONE: "us"}), view(2, {ZONE: ""}), view(3, {ZONE: "them"})).lingering
    assert not lingering.without_lingering(ZONE).lingering
    assert not owns(lingering.without_lingering(ZONE), occupied=True, zone="z1")


def test_what_was_acknowledged_does_not_linger_again() -> None:
    """Others still hold the pair, so later views go on to show it without an owner."""
    acked = shard(view(1, {ZONE: "us"}), view(2, {ZONE: ""})).without_lingering(ZONE)
    assert not acked.newer(view(3, {ZONE: ""}), [ACME]).lingering


def test_a_pair_is_given_up_before_the_view_says_so() -> None:
    before = shard(view(1, {ZONE: "us"}, "us"))
    after = before.giving_up(ZONE)
    assert after.revision == before.revision
    assert owns(after, occupied=True, zone="z1")
    assert not owns(after, occupied=False, zone="z1")
    assert after.giving_up(ZONE) is after
    assert after.newer(view(2, {ZONE: ""}, "us"), [ACME]).lingering.keys() == {ZONE}


def test_a_provider_is_given_up_like_a_domain() -> None:
    after = shard(view(1, {ZONE: "us"}, "us")).giving_up(PROVIDER)
    assert owns(after, occupied=True)
    assert not owns(after, occupied=False)
    assert owns(after, occupied=False, zone="z1")


def test_an_unknown_key_waits_for_its_view() -> None:
    """Where it is asked, before or after the zone, only the view can tell."""
    before = Ownership("us", everything=False).newer(
        OwnershipView.of(1, ["zone"], {ZONE: "us"}), [ACME]
    )
    assert before.giving_up(RACK) is before


def test_a_pair_of_another_shard_is_not_ours_to_give_up() -> None:
    before = shard(view(1, {ZONE: "them"}, "us"))
    assert before.giving_up(ZONE) is before
    nothing = Ownership("us", everything=False)
    assert nothing.giving_up(ZONE) is nothing


def test_a_late_view_of_the_same_revision_gives_nothing_back() -> None:
    after = shard(view(1, {ZONE: "us"})).giving_up(ZONE)
    assert after.newer(view(1, {ZONE: "us"}), [ACME]) is after


# -- what came later does not linger ---------------------------------------------------------------


def test_what_comes_after_a_pair_was_taken_away_does_not_come_in_below_it() -> None:
    """The zone was the default owner's; that the provider is ours by now changes nothing there."""
    theirs = view(1, default="them"), view(2, {ZONE: ""}, "them"), view(3, {ZONE: ""}, "us")
    after = shard(*theirs)
    assert not owns(after, occupied=True, zone="z1")
    assert owns(after, occupied=False, zone="z2")


def test_what_came_before_lingers_below_a_pair_that_was_taken_away_later() -> None:
    later = (
        view(1, {RACK: "us"}, "them"),
        view(2, {RACK: ""}, "them"),
        view(3, {RACK: ""}, "us"),
        view(4, {RACK: "", ZONE: ""}, "us"),
    )
    after = shard(*later)
    assert lingers_in(after, zone="z1") == (ZONE,)
    assert lingers_in(after, rack="r1") == (RACK,)


def test_a_row_of_another_that_is_gone_lets_nothing_in() -> None:
    after = shard(
        view(1, {RACK: "them"}, "us"),
        view(2, {RACK: "them", ZONE: ""}, "us"),
        view(3, {ZONE: ""}, "us"),
    )
    assert not owns(after, occupied=True, rack="r1", zone="z1")
    assert owns(after, occupied=True, zone="z1")


def test_a_provider_that_is_covered_later_lets_nothing_in() -> None:
    first, later = view(1, default="us"), view(2, {ZONE: ""}, "us")
    ownership = Ownership("us", everything=False).newer(first, [])
    assert not owns(ownership.newer(later, [ACME]), occupied=True, zone="z1")


def test_a_machine_that_was_anothers_by_name_does_not_come_in() -> None:
    row = MachineOverride("m", "them", "us", "t1")
    after = shard(view(1, {ZONE: "us"}, None, (row,)), view(2, {ZONE: ""}, None, (row,)))
    assert not owns(after, occupied=True, zone="z1")
    without = after.newer(view(3, {ZONE: ""}), [ACME])
    assert not owns(without, occupied=True, zone="z1")
    assert owns(without, occupied=True, machine="other", zone="z1")


def test_keys_that_are_asked_in_another_order_end_all_of_it() -> None:
    before = shard(view(1, {ZONE: "us", RACK: "them"}), view(2, {ZONE: "", RACK: "them"}))
    turned = OwnershipView.of(3, ("zone", "rack"), {ZONE: "", RACK: "them"})
    assert not before.newer(turned, [ACME]).lingering


def test_nothing_lingers_of_a_first_view() -> None:
    assert not shard(view(1, {ZONE: ""}, "us")).lingering


# -- single machines -------------------------------------------------------------------------------


def test_a_released_machine_has_no_owner_until_its_transfer_is_decided() -> None:
    released = shard(view(1, {ZONE: "us"})).releasing(["m"], "t2")
    assert not owns(released, occupied=False, zone="z1")
    assert not owns(released, occupied=True, zone="z1")
    assert owns(released, occupied=False, machine="other", zone="z1")
    assert owns(released.readopting("t2"), occupied=False, zone="z1")
    assert released.readopting("t1").released == {"m": "t2"}


def test_only_the_row_of_its_own_transfer_ends_a_release() -> None:
    """It was moved before, and views name that row; it is still on its way to another shard."""
    older = MachineOverride("m", "us", "them", "t1")
    released = shard(view(1, {ZONE: "us"}, None, (older,))).releasing(["m"], "t2")
    again = released.newer(view(2, {ZONE: "us"}, None, (older,)), [ACME])
    assert not owns(again, occupied=False, zone="z1")
    newer = MachineOverride("m", "others", "them", "t2")
    granted = again.newer(view(3, {ZONE: "us"}, None, (newer,)), [ACME])
    assert granted.released == {}
    assert not owns(granted, occupied=False, zone="z1")


def test_a_released_machine_does_not_linger() -> None:
    released = shard(view(1, {ZONE: "us"})).releasing(["m"], "t2").giving_up(ZONE)
    assert not owns(released, occupied=True, zone="z1")
    assert lingers_in(released, zone="z1") == ()


def test_some_machines_are_spoken_of_by_name() -> None:
    row = MachineOverride("moved", "them", "us", "t1")
    after = shard(view(1, {ZONE: "us"}, None, (row,))).releasing(["given"], "t2")
    assert [after.names(name) for name in ("moved", "given", "other")] == [True, True, False]
    assert not Ownership("us").names("moved")


# -- whether a List is worth a look ----------------------------------------------------------------


def test_machines_may_come_with_a_row_that_is_ours_or_gone() -> None:
    before = shard(view(1, {ZONE: "them", RACK: "us"}, "them"))

    def may_gain(domains: dict[Pair, str], default: str, **more: object) -> bool:
        after = before.newer(view(2, domains, default, **more), [ACME])  # type: ignore[arg-type]
        return after.may_gain(before)

    rows = {ZONE: "them", RACK: "us"}
    assert not may_gain(rows, "them")
    assert not may_gain({ZONE: "", RACK: ""}, "others")
    assert not may_gain({ZONE: "them"}, "them")
    assert may_gain({**rows, ZONE: "us"}, "them")
    assert may_gain({RACK: "us"}, "them")
    assert may_gain(rows, "us")
    assert may_gain(rows, "them", overrides=(MachineOverride("m", "us", "them", "t1"),))
    assert not may_gain(rows, "them", overrides=(MachineOverride("m", "them", "us", "t1"),))


def test_machines_that_come_one_by_one_are_known_by_name() -> None:
    mine, theirs = MachineOverride("m", "us", "them", "t1"), MachineOverride("n", "them", "us", "t")
    rows = {ZONE: "them", RACK: "us"}
    before = shard(view(1, rows, "them", (theirs,))).releasing(["given"], "t2")
    moved = before.newer(view(2, rows, "them", (mine, theirs)), [ACME])
    assert moved.machines_gained(before) == frozenset({"m"})
    assert moved.readopting("t2").machines_gained(before) == frozenset({"m", "given"})
    gone = before.newer(view(2, rows, "them"), [ACME])
    assert gone.machines_gained(before) == frozenset({"n"})
    assert before.machines_gained(before) == frozenset()


def test_machines_that_come_with_a_domain_are_not() -> None:
    before = shard(view(1, {ZONE: "them", RACK: "us"}, "them"))
    for rows, default in (({ZONE: "us", RACK: "us"}, "them"), ({ZONE: "them", RACK: "us"}, "us")):
        assert before.newer(view(2, rows, default), [ACME]).machines_gained(before) is None
    nothing = Ownership("us", everything=False)
    assert nothing.newer(view(1, {ZONE: "us"}), []).machines_gained(nothing) is None


def test_machines_may_come_with_a_first_view_a_provider_or_a_transfer_that_is_off() -> None:
    nothing = Ownership("us", everything=False)
    first = nothing.newer(view(1, {ZONE: "us"}), [])
    assert first.may_gain(nothing)
    assert first.newer(view(2, {ZONE: "us"}), [ACME]).may_gain(first)
    released = first.releasing(["m"], "t1")
    assert not released.may_gain(first)
    assert released.readopting("t1").may_gain(released)
    assert not Ownership("us").may_gain(Ownership("us"))


def test_machines_that_come_by_name_are_known_by_name() -> None:
    before = shard(view(1, {ZONE: "them"}, "us"))
    came = MachineOverride("m", "us", "them", "t1")
    by_name = before.newer(view(2, {ZONE: "them"}, "us", (came,)), [ACME])
    assert by_name.machines_gained(before) == frozenset({"m"})
    assert (
        before.newer(view(2, {ZONE: "us"}, "us", (came,)), [ACME]).machines_gained(before) is None
    )
    released = before.releasing(["n"], "t2")
    assert released.readopting("t2").machines_gained(released) == frozenset({"n"})
