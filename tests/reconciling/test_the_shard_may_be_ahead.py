"""What the shard has just done is not undone by a List that does not know of it."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import Assigned, Instant, Machine
from bigfleet.model.shard_views import StorySource
from tests.reconciling.rig import CONFIGURED, CONFIGURING, CREATING, DRAINING, IDLE, Rig, record

STAMP = Assigned(7, need_fingerprint="p=7")


def bootstrapping(rig: Rig) -> Machine:
    machine = replace(rig.machine("m"), state=CONFIGURING, cluster="shop", assigned=STAMP)
    rig.local(machine)
    return machine


def test_a_pending_action_shields_the_state_and_nothing_else() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    machine = bootstrapping(rig)
    rig.pending.add("m")
    rig.lists(record("m", price_per_hour=0.9))
    assert rig.machine("m") == replace(machine, price_per_hour=0.9)
    assert rig.count("machine_attribute_updates_total", field="price_per_hour") == 1


def test_a_list_begun_before_the_shards_own_step_does_not_count() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    started = rig.now
    reading = rig.read([record("m", price_per_hour=0.9)])
    rig.wait(1)
    bootstrapping(rig)
    rig.wait(1)
    rig.arrived(reading, started)
    assert rig.state("m") is CONFIGURING
    assert rig.machine("m").price_per_hour == 0.9


@pytest.mark.parametrize("whole", [True, False], ids=["whole_lists", "lists_of_changes"])
def test_what_could_not_be_taken_over_is_looked_at_again(whole: bool) -> None:
    """The provider says it once; the next List of changes does not name the machine again."""
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    bootstrapping(rig)
    rig.pending.add("m")
    done = record("m", CONFIGURED)
    rig.lists(done, whole=whole)
    assert rig.state("m") is CONFIGURING
    rig.pending.clear()
    rig.lists(*([done] if whole else []), whole=whole)
    assert rig.state("m") is CONFIGURED
    assert rig.machine("m").assigned == STAMP


def test_a_newer_word_of_the_provider_replaces_the_one_that_waited() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    bootstrapping(rig)
    rig.pending.add("m")
    rig.lists(record("m", CONFIGURED), whole=False)
    rig.pending.clear()
    rig.lists(record("m", DRAINING), whole=False)
    rig.lists(whole=False)
    assert rig.state("m") is DRAINING


@pytest.mark.parametrize("whole", [True, False], ids=["whole_lists", "lists_of_changes"])
def test_a_newer_word_that_is_rejected_replaces_the_one_that_waited_too(whole: bool) -> None:
    """The provider has said something else since; that it cannot be read makes the old no truer."""
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    machine = bootstrapping(rig)
    rig.pending.add("m")
    rig.lists(record("m", price_per_hour=0.5), whole=whole)
    rig.wait(1)
    rig.local(replace(machine, state=CONFIGURED))
    rig.pending.clear()
    rig.wait(1)
    for _ in range(3):
        rig.lists(record("m", CONFIGURED, cluster="\x1b[2J"), whole=whole)
    assert rig.state("m") is CONFIGURED
    assert rig.machine("m").cluster == "shop"


def test_a_machine_changed_while_a_list_was_read_is_looked_at_in_the_next() -> None:
    """The reader knew the record and skipped it; the shard's change made it worth a look."""
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    started = rig.now
    reading = rig.read([record("m")])
    rig.wait(1)
    bootstrapping(rig)
    rig.wait(1)
    rig.arrived(reading, started)
    assert rig.state("m") is CONFIGURING
    rig.lists(record("m"))
    assert rig.state("m") is IDLE


def test_a_machine_that_is_being_preempted_stays_so_while_its_provider_has_it_configured() -> None:
    rig = Rig()
    rig.lists(record("m", CONFIGURED))
    rig.machines.show_as_draining("m", rig.now)
    rig.lists(record("m", CONFIGURED, price_per_hour=0.9))
    assert rig.machines.is_shown_as_draining("m")
    assert rig.machines.inventory.machine_of("m").state is DRAINING
    assert rig.machine("m").price_per_hour == 0.9
    rig.lists(record("m", DRAINING))
    assert not rig.machines.is_shown_as_draining("m")
    assert rig.state("m") is DRAINING
    assert rig.told()[-1] == ("shop", "m", DRAINING)


def test_a_removed_machine_that_is_still_listed_comes_back() -> None:
    """A person who removed it by hand meant the record, not the machine."""
    rig = Rig()
    rig.lists(record("m"), record("n"))
    rig.machines.remove("m", rig.now, "by hand", source=StorySource.ADMIN)
    rig.lists(record("m"), record("n"))
    assert rig.ids() == ["m", "n"]


def test_what_a_listener_does_after_a_list_is_looked_at_in_the_next_one() -> None:
    """The machine is Idle at last and taken further at once; its provider never does that."""
    rig = Rig()
    heard = []

    def take_further(before: Machine | None, after: Machine | None, at: Instant) -> None:
        if after is not None and after.state is IDLE:
            heard.append(at)
            rig.local(replace(after, state=CONFIGURING, cluster="shop"))

    rig.machines.watch(take_further)
    rig.lists(record("m", CREATING))
    rig.lists(record("m", IDLE))
    assert rig.state("m") is CONFIGURING
    rig.wait(1)
    rig.lists(record("m", IDLE))
    assert len(heard) == 2


def test_marks_of_old_changes_are_dropped() -> None:
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    bootstrapping(rig)
    assert rig.machines.changed_at("m") == rig.now
    rig.lists(record("m", CONFIGURED))
    assert rig.machines.changed_at("m") is None


def test_a_repeated_id_is_no_news_of_a_machine_that_waits() -> None:
    """The first record of an id counts, in a List that waited and in the next."""
    rig = Rig()
    rig.lists(record("m"))
    rig.wait(1)
    bootstrapping(rig)
    rig.pending.add("m")
    said = [record("m", CONFIGURED), record("m", IDLE)]
    rig.lists(*said)
    assert rig.state("m") is CONFIGURING
    rig.pending.clear()
    rig.lists(*said)
    assert rig.state("m") is CONFIGURED
