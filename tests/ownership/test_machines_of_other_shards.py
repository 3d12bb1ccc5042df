"""Records of machines this shard does not own are ignored before anything else."""

from bigfleet.model.ownership import Ownership, OwnershipView
from bigfleet.model.requirements import HOSTNAME_KEY, ZONE_KEY
from tests.reconciling.rig import CONFIGURED, Rig, record

OURS, THEIRS = record("ours", zone="eu-1a"), record("theirs", CONFIGURED, zone="eu-1b")


def view(revision: int, **zones: str) -> OwnershipView:
    return OwnershipView.of(
        revision, domains={(ZONE_KEY, zone.replace("_", "-")): s for zone, s in zones.items()}
    )


def shard_of(view: OwnershipView | None) -> Rig:
    return Rig(ownership=Ownership("shard-0", everything=False, view=view))


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


def test_overrides_and_node_names_are_looked_at_machine_by_machine() -> None:
    rig = shard_of(
        OwnershipView.of(
            1,
            domains={(HOSTNAME_KEY, "ip-1"): "shard-0"},
            overrides={"theirs": "shard-0", "ours": "shard-1"},
        )
    )
    named = record("named", labels={HOSTNAME_KEY: "ip-1"})
    rig.lists(OURS, THEIRS, named, record("other", labels={HOSTNAME_KEY: "ip-2"}))
    assert rig.ids() == ["named", "theirs"]


def test_an_override_beats_the_domain_of_its_offering() -> None:
    rig = shard_of(
        OwnershipView.of(
            1, domains={(ZONE_KEY, "eu-1a"): "shard-0"}, overrides={"moved": "shard-1"}
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


def test_a_new_view_takes_machines_away_at_once_and_brings_others_with_the_next_list() -> None:
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-1"))
    rig.lists(OURS, THEIRS)
    newer = rig.reconciler.ownership.newer(view(2, eu_1a="shard-1", eu_1b="shard-0"))
    rig.reconciler.on_ownership(newer, rig.now)
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
    newer = rig.reconciler.ownership.newer(view(2, eu_1a="shard-0", eu_1b="shard-0"))
    rig.reconciler.on_ownership(newer, rig.now)
    rig.arrived(reading, rig.now - 1)
    rig.lists(OURS, THEIRS)
    assert rig.ids() == ["ours", "theirs"]


def test_what_was_given_away_is_not_missed() -> None:
    """Of 20 machines 15 go to another shard; that is no shrinking List."""
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-0"))
    machines = [record(f"m-{i}", zone="eu-1a" if i < 5 else "eu-1b") for i in range(20)]
    rig.lists(*machines)
    newer = rig.reconciler.ownership.newer(view(2, eu_1a="shard-0", eu_1b="shard-1"))
    rig.reconciler.on_ownership(newer, rig.now)
    rig.lists(*machines[:5])
    assert len(rig.ids()) == 5
    assert rig.reconciler.quarantines() == []
    assert rig.count("machines_unseen", provider="acme") == 0
