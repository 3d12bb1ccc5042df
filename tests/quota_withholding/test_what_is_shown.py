"""Of each provider and region the cheapest slots are shown, up to what is left of the grant."""

from dataclasses import replace

from bigfleet.model.coordination import QuotaGrant
from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import MachineState
from tests.quota_withholding.granting import ACME, BOLT, GrantRig, slot

S = MachineState


def test_without_a_grant_everything_is_shown() -> None:
    shard = GrantRig()
    shard.has(slot("a"), slot("b"))
    shard.looks()
    assert shard.withheld() == []


def test_the_cheapest_are_shown_then_by_name() -> None:
    shard = GrantRig()
    shard.has(slot("a", 3.0), slot("b", 1.0), slot("d", 2.0), slot("c", 2.0), slot("e", 9.0))
    shard.granted(2)
    assert shard.withheld() == ["a", "d", "e"]


def test_what_is_in_use_counts_against_the_grant() -> None:
    shard = GrantRig()
    shard.has(slot("used", state=S.IDLE), slot("bound", state=S.CONFIGURED))
    shard.has(slot("a"), slot("b"))
    shard.granted(3)
    assert shard.withheld() == ["b"]


def test_a_grant_below_what_is_in_use_takes_nothing_back_and_shows_nothing() -> None:
    shard = GrantRig()
    shard.has(slot("one", state=S.CONFIGURED), slot("two", state=S.CONFIGURED), slot("a"))
    shard.granted(1)
    assert shard.withheld() == ["a"]
    assert shard.machines.truth("two").state is S.CONFIGURED


def test_every_provider_and_region_has_its_own() -> None:
    shard = GrantRig()
    shard.has(slot("a-eu"), slot("b-eu"), slot("c-us", region="us"))
    shard.has(slot("d-eu"), provider=BOLT)
    shard.granted(1)
    assert shard.withheld() == ["b-eu"]


def test_a_machine_without_the_label_is_in_its_providers_region() -> None:
    shard = GrantRig()
    shard.has(slot("a", region=None), slot("b", region=None), slot("c", region="us"))
    shard.grants(QuotaGrant(ACME, "eu", 1), acme="eu")
    assert shard.withheld() == ["b"]


def test_a_machine_without_any_region_has_a_quota_too() -> None:
    shard = GrantRig()
    shard.has(slot("a", region=None), slot("b", region=None))
    shard.granted(1, region="")
    assert shard.withheld() == ["b"]


def test_an_unlimited_grant_withholds_nothing() -> None:
    shard = GrantRig()
    shard.has(slot("a"), slot("b"))
    shard.granted(0)
    assert shard.withheld() == ["a", "b"]
    shard.grants(QuotaGrant(ACME, "eu", 0, unlimited=True))
    assert shard.withheld() == []


def test_a_grant_that_is_gone_withholds_nothing() -> None:
    shard = GrantRig()
    shard.has(slot("a"))
    shard.granted(0)
    assert shard.withheld() == ["a"]
    shard.grants()
    assert shard.withheld() == []


def test_slots_that_are_held_for_another_reason_are_not_among_the_shown() -> None:
    """What rests or is unseen would not be shown; the next ones are."""
    shard = GrantRig()
    shard.has(slot("a"), slot("b"), slot("c"), slot("d"))
    shard.machines.hold("a", Held(HeldBy.UNSEEN))
    shard.granted(2)
    assert shard.held() == {"a": HeldBy.UNSEEN, "d": HeldBy.QUOTA}


def test_offerings_that_rest_are_not_among_the_shown() -> None:
    shard = GrantRig()
    cheap = replace(slot("cheap", 1.0), instance_type="small")
    shard.has(cheap, slot("dear", 2.0), slot("dearer", 3.0))
    shard.parts.offerings.out_of_stock(cheap, "none left", shard.at)
    # The offering holds its slots by itself; a slot that it does not hold yet is withheld too.
    shard.machines.hold("cheap", None)
    shard.granted(1)
    assert shard.withheld() == ["cheap", "dearer"]


def test_a_slot_that_comes_later_is_withheld_at_the_next_look() -> None:
    shard = GrantRig()
    shard.has(slot("a"))
    shard.granted(1)
    shard.has(slot("b"))
    assert shard.withheld() == []
    shard.looks()
    assert shard.withheld() == ["b"]


def test_what_was_given_back_is_shown_again() -> None:
    shard = GrantRig()
    shard.has(slot("used", state=S.IDLE), slot("a"))
    shard.granted(1)
    assert shard.withheld() == ["a"]
    shard.becomes("used", S.DELETING)
    shard.becomes("used", S.SPECULATIVE)
    shard.looks()
    assert shard.withheld() == ["used"], "one of the two, the first by name"


def test_a_price_that_changes_changes_who_is_shown() -> None:
    shard = GrantRig()
    shard.has(slot("a", 1.0), slot("b", 2.0))
    shard.granted(1)
    shard.machines.step(slot("a", 5.0), shard.at, "dearer", adopted=True)
    shard.looks()
    assert shard.withheld() == ["a"]


def test_it_is_looked_at_once_a_second_at_most() -> None:
    shard = GrantRig()
    shard.has(slot("a"))
    shard.granted(0)
    shard.has(slot("b"))
    shard.wait(0.5)
    shard.quotas.refresh(shard.at)
    assert shard.withheld() == ["a"]
    shard.wait(0.5)
    shard.quotas.refresh(shard.at)
    assert shard.withheld() == ["a", "b"]


def test_the_gauges_follow_the_grants() -> None:
    shard = GrantRig()
    shard.has(slot("used", state=S.IDLE), slot("a"))
    shard.granted(5)
    counts, where = shard.effects.counts, {"provider": ACME, "region": "eu"}
    assert counts.of("quota_allocated", **where) == 5
    assert counts.of("quota_in_use", **where) == 1
    shard.grants()
    assert not [name for name, _ in counts.gauges if name.startswith("quota_")]
