"""Records of machines this shard does not own are ignored before anything else."""

from bigfleet.model.ownership import MachineOverride, Ownership, OwnershipView
from bigfleet.model.requirements import HOSTNAME_KEY, ZONE_KEY
from bigfleet.shard.settings import ReconcileSettings, ShardSettings
from tests.ownership.sharing import shard_of, takes, takes_over, view
from tests.reconciling.rig import CONFIGURED, CREATING, IDLE, Rig, record

OURS, THEIRS = record("ours", zone="eu-1a"), record("theirs", CONFIGURED, zone="eu-1b")


def test_only_owned_machines_come_in() -> None:
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-1"))
    rig.lists(OURS, THEIRS)
    assert rig.ids() == ["ours"]
    assert rig.sent == []
    assert rig.count("machines_ignored_unowned", provider="acme") == 1


def test_without_a_view_nothing_comes_in() -> None:
    rig = shard_of(None)
    rig.lists(OURS, THEIRS)
    assert rig.ids() == []
    assert rig.count("machines_ignored_unowned", provider="acme") == 2


def test_a_view_for_other_providers_brings_nothing() -> None:
    ownership = Ownership("shard-0", everything=False).newer(view(1, eu_1a="shard-0"), ["bolt"])
    rig = Rig(ownership=ownership)
    rig.lists(OURS)
    assert rig.ids() == []


def test_overrides_and_node_names_are_looked_at_machine_by_machine() -> None:
    rig = shard_of(
        OwnershipView.of(
            1,
            domains={(HOSTNAME_KEY, "ip-1"): "shard-0"},
            overrides=[
                MachineOverride("theirs", "shard-0", "shard-1"),
                MachineOverride("ours", "shard-1", "shard-0"),
            ],
        )
    )
    named = record("named", labels={HOSTNAME_KEY: "ip-1"})
    rig.lists(OURS, THEIRS, named, record("other", labels={HOSTNAME_KEY: "ip-2"}))
    assert rig.ids() == ["named", "theirs"]


def test_an_override_beats_the_domain_of_its_offering() -> None:
    rig = shard_of(
        OwnershipView.of(
            1,
            domains={(ZONE_KEY, "eu-1a"): "shard-0"},
            overrides=[MachineOverride("moved", "shard-1", "shard-0")],
        )
    )
    rig.lists(OURS, record("moved", zone="eu-1a"))
    assert rig.ids() == ["ours"]


def test_a_machine_that_moves_out_of_the_domain_leaves_without_any_action() -> None:
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-1"))
    rig.lists(record("m", CONFIGURED, zone="eu-1a"))
    rig.sent.clear()
    rig.lists(record("m", CONFIGURED, zone="eu-1b"))
    assert rig.ids() == []
    assert rig.sent == []
    rig.lists(record("m", CONFIGURED, zone="eu-1a"))
    assert rig.ids() == ["m"]
    assert rig.count("machines_ignored_unowned", provider="acme") == 0


def test_a_new_view_takes_machines_away_and_brings_others_with_the_next_list() -> None:
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-1"))
    rig.lists(OURS, THEIRS)
    takes(rig, view(2, eu_1a="shard-1", eu_1b="shard-0"))
    assert rig.ids() == []
    assert rig.reconciler.next_list("acme", rig.now).whole
    rig.lists(OURS, THEIRS)
    assert rig.ids() == ["theirs"]
    assert rig.count("machines_ignored_unowned", provider="acme") == 1


def test_a_list_asked_for_under_the_old_view_does_not_hide_what_the_new_one_gives() -> None:
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(OURS, THEIRS)
    rig.wait(1)
    reading = rig.read([OURS, THEIRS])
    takes(rig, view(2, eu_1a="shard-0", eu_1b="shard-0"))
    rig.arrived(reading, rig.now - 1)
    rig.lists(OURS, THEIRS)
    assert rig.ids() == ["ours", "theirs"]


def test_a_list_of_changes_asked_for_before_is_followed_by_a_whole_one() -> None:
    """It does not name what has not changed, and what is ours by now may not have."""
    changes = ReconcileSettings(mode="incremental")
    rig = shard_of(view(1, eu_1a="shard-0"), ShardSettings(reconcile=changes))
    rig.lists(OURS, THEIRS)
    rig.wait(1)
    assert not rig.reconciler.next_list("acme", rig.now).whole
    asked = rig.read([], whole=False)
    takes(rig, view(2, eu_1a="shard-0", eu_1b="shard-0"))
    rig.arrived(asked, rig.now - 1, whole=False)
    assert rig.reconciler.next_list("acme", rig.now).whole
    rig.lists(OURS, THEIRS)
    assert rig.ids() == ["ours", "theirs"]


def test_what_may_have_come_is_looked_for_in_a_whole_list() -> None:
    changes = ReconcileSettings(mode="incremental")
    rig = shard_of(view(1, eu_1a="shard-0"), ShardSettings(reconcile=changes))
    rig.lists(OURS, THEIRS)
    takes(rig, view(2, eu_1a="shard-0", eu_1b="shard-0"))
    assert rig.reconciler.next_list("acme", rig.now).whole


def test_a_view_that_brings_nothing_asks_for_nothing() -> None:
    changes = ReconcileSettings(mode="incremental")
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-1"), ShardSettings(reconcile=changes))
    rig.lists(OURS, THEIRS)
    takes(rig, view(2, eu_1a="shard-0", eu_1b="shard-2"))
    assert not rig.reconciler.next_list("acme", rig.now).whole
    assert rig.reconciler.listed_since(rig.reconciler.generation)


def test_what_was_given_away_is_not_missed() -> None:
    """Of 20 machines 15 go to another shard; that is not a shrinking List."""
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-0"))
    machines = [record(f"m-{i}", zone="eu-1a" if i < 5 else "eu-1b") for i in range(20)]
    rig.lists(*machines)
    takes(rig, view(2, eu_1a="shard-0", eu_1b="shard-1"))
    rig.lists(*machines[:5])
    assert len(rig.ids()) == 5
    assert rig.reconciler.quarantines() == []
    assert rig.count("machines_unseen", provider="acme") == 0


def test_a_view_that_comes_between_two_pieces_of_a_list_judges_the_rest_of_it() -> None:
    rig = shard_of(view(1, eu_1a="shard-0"))
    machines = [record(f"m-{i:05}", IDLE, zone="eu-1a") for i in range(9_000)]
    rig.wait(1)
    more = rig.begins(rig.read(machines), rig.now - 1)
    while more and not rig.ids():
        more = rig.reconciler.continue_list("acme")
    assert 0 < len(rig.ids()) < 9_000
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.newer(view(2, eu_1a="shard-1"), ["acme"]), rig.now)
    takes_over(rig)
    assert rig.ids() == []
    assert rig.count("machines_ignored_unowned", provider="acme") == 9_000


def test_a_view_that_comes_between_two_machines_judges_the_next_one() -> None:
    """Machines on their way somewhere are taken over one by one."""
    rig = shard_of(view(1, eu_1a="shard-0"))
    machines = [record(f"m-{i:05}", CREATING, zone="eu-1a") for i in range(600)]
    rig.wait(1)
    more = rig.begins(rig.read(machines), rig.now - 1)
    while more and not rig.ids():
        more = rig.reconciler.continue_list("acme")
    assert 0 < len(rig.ids()) < 600
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.newer(view(2, eu_1a="shard-1"), ["acme"]), rig.now)
    takes_over(rig)
    assert rig.ids() == []
    assert rig.count("machines_ignored_unowned", provider="acme") == 600


def test_a_view_that_comes_between_two_pieces_gives_what_was_passed_over() -> None:
    rig = shard_of(view(1, eu_1a="shard-1"))
    machines = [record(f"m-{i:05}", IDLE, zone="eu-1a") for i in range(9_000)]
    rig.wait(1)
    assert rig.begins(rig.read(machines), rig.now - 1)
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.newer(view(2, eu_1a="shard-0"), ["acme"]), rig.now)
    takes_over(rig)
    rig.lists(*machines)
    assert len(rig.ids()) == 9_000


def test_a_list_that_begins_after_the_view_shows_all_that_came_with_it() -> None:
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(OURS, THEIRS)
    before = rig.reconciler.generation
    assert rig.reconciler.listed_since(before)
    early = rig.read([OURS, THEIRS])
    takes(rig, view(2, eu_1a="shard-0", eu_1b="shard-0"))
    rig.arrived(early, rig.now)
    assert rig.reconciler.listed_since(before)
    assert not rig.reconciler.listed_since(rig.reconciler.generation)
    rig.lists(OURS, THEIRS)
    assert rig.reconciler.listed_since(rig.reconciler.generation)
