"""From the moment a view is taken nothing is begun for a machine that is not owned any more."""

from dataclasses import replace

from bigfleet.model.machines import MachineState
from bigfleet.model.ownership import OwnershipView
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.session_frames import BootstrapResponse, ReclaimAck
from bigfleet.model.shard_views import Disposition
from bigfleet.shard.effects import DRAINS, FAILURES, RESERVATIONS
from bigfleet.shard.events import BlobArrived, ReclaimAcked
from bigfleet.shard.settings import ExecuteSettings, ShardSettings
from tests.ownership.shared_cloud import Cloud, Shard, slot

S = MachineState


def view(revision: int, **zones: str) -> OwnershipView:
    return OwnershipView.of(revision, domains={(ZONE_KEY, z): s for z, s in zones.items()})


def fleet(*zones: str, state: MachineState = S.IDLE, at_a_time: int = 256) -> tuple[Cloud, Shard]:
    """Shard a owns zone x; one machine in each of the zones."""
    cloud = Cloud(slot(f"m-{number}", zone, state) for number, zone in enumerate(zones))
    execute = ExecuteSettings(concurrency=at_a_time)
    shard = cloud.join("a", settings=ShardSettings(id="a", execute=execute))
    shard.take(view(1, x="a"))
    shard.lists()
    return cloud, shard


def rulings(shard: Shard) -> list[tuple[str, Disposition | None]]:
    return [(each.machine, each.disposition) for each in shard.state.decision_loop.actions]


def test_without_a_view_nothing_is_decided_and_the_shard_is_not_ready() -> None:
    cloud = Cloud([slot("m", "x", S.IDLE)])
    shard = cloud.join("a")
    shard.lists()
    shard.wants(1)
    assert not shard.state.may_decide(cloud.at)
    assert shard.state.why_not_ready() == "what this shard owns is not known yet"
    assert cloud.asked == []


def test_what_was_decided_before_the_view_came_is_not_begun() -> None:
    cloud, shard = fleet("x")
    shard.wants(1)
    thought = shard.thinks()
    shard.take(view(2, x="b"), sweep=False)
    thought.ends()
    assert cloud.asked == []
    assert rulings(shard) == [("m-0", Disposition.INAPPLICABLE)]
    story, _ = shard.state.machine_views.story("m-0", 0, 10)
    assert story[-1].text == (
        "Bootstrap inapplicable: m-0 is another shard's by now; it is left alone"
    )


def test_nothing_is_acquired_in_a_domain_that_is_being_given_up() -> None:
    cloud, shard = fleet("x", state=S.SPECULATIVE)
    shard.wants(1)
    thought = shard.thinks()
    shard.take(view(2, x=""), sweep=False)
    thought.ends()
    assert cloud.asked == []
    shard.sweep()
    assert shard.ids() == []


def test_a_machine_that_serves_there_is_drained_as_ever() -> None:
    cloud, shard = fleet("x")
    shard.wants(1)
    shard.cycle()
    cloud.pass_()
    shard.lists()
    shard.take(view(2, x=""))
    assert shard.ids() == ["m-0"]
    shard.wants(0)
    shard.cycle()
    assert cloud.asked[-1] == ("a", "DrainCall", "m-0")
    cloud.pass_()
    shard.lists()
    shard.tick()
    assert shard.ids() == []
    assert cloud.shelf["m-0"].state is S.IDLE


def test_a_machine_bought_while_the_domain_goes_is_not_configured() -> None:
    cloud, shard = fleet("x", state=S.SPECULATIVE)
    shard.wants(1)
    shard.cycle()
    assert cloud.shelf["m-0"].state is S.CREATING
    shard.take(view(2, x=""))
    assert shard.ids() == ["m-0"]
    for _ in range(3):
        cloud.pass_()
        shard.lists()
        shard.tick()
        shard.cycle()
    assert [each[1] for each in cloud.asked] == ["CreateCall"]
    assert shard.ids() == []


def test_a_machine_that_is_created_at_once_is_not_configured_either() -> None:
    cloud, shard = fleet("x", state=S.SPECULATIVE)
    cloud.is_quick, shard.hears = True, False
    shard.wants(1)
    shard.cycle()
    shard.take(view(2, x=""))
    shard.hear()
    assert [each[1] for each in cloud.asked] == ["CreateCall"]
    shard.tick()
    assert shard.ids() == []


def test_what_waits_in_the_queue_is_not_begun() -> None:
    cloud, shard = fleet("x", "x", state=S.SPECULATIVE, at_a_time=1)
    shard.hears = False
    shard.wants(2)
    shard.cycle()
    assert len(cloud.asked) == 1
    assert shard.state.parts.execution.queue_depth == 1
    shard.take(view(2, x=""))
    assert len(shard.ids()) == 2, "one is being created, one waits for its turn"
    shard.hear()
    shard.tick()
    assert len(cloud.asked) == 1
    assert len(shard.ids()) == 1


def test_a_drain_does_not_reach_the_provider_of_a_machine_that_was_lost() -> None:
    cloud, shard = fleet("x")
    shard.evicts = False
    shard.wants(1)
    shard.cycle()
    cloud.pass_()
    shard.lists()
    shard.wants(0)
    shard.cycle()
    assert len(shard.evicting) == 1
    shard.take(view(2, x="b"), sweep=False)
    shard.evicts = True
    for _ in ("begun", "done"):
        ack = ReclaimAck(shard.evicting[0].instruction_id, 1)
        shard.obey(shard.state.handle(ReclaimAcked(1, ack, cloud.at)))
    assert [each[1] for each in cloud.asked] == ["ConfigureCall"]
    shard.sweep()
    assert shard.ids() == []


def test_a_blob_that_comes_after_the_machine_was_lost_configures_nothing() -> None:
    cloud, shard = fleet("x")
    shard.reads_blobs = False
    shard.wants(1)
    shard.cycle()
    request = shard.waiting_blobs[0]
    shard.take(view(2, x="b"), sweep=False)
    blob = BootstrapResponse(request, b"join")
    shard.obey(shard.state.handle(BlobArrived(1, blob, cloud.at)))
    assert cloud.asked == []
    shard.sweep()
    assert shard.ids() == []


def test_nothing_is_remembered_of_a_machine_that_is_lost() -> None:
    """Drain, reservation and failures: another shard has the machine now."""
    cloud, shard = fleet("x", "x", "x")
    shard.evicts = False
    shard.wants(2)
    shard.cycle()
    cloud.pass_()
    free = next(name for name, each in cloud.shelf.items() if each.state is S.IDLE)
    cloud.shelf[free] = replace(cloud.shelf[free], state=S.FAILED, last_error="broken")
    shard.lists()
    shard.wants(1, "dearer", priority=5_000)
    shard.cycle()
    tables = (DRAINS, RESERVATIONS, FAILURES)
    assert [len(shard.disk.get(table, {})) for table in tables] == [1, 1, 1]
    shard.take(view(2, x="b"))
    assert shard.ids() == []
    assert [shard.disk[table] for table in tables] == [{}, {}, {}]
    assert shard.state.decision_loop.memory.reservations == {}


def test_a_cluster_is_not_told_that_its_machines_failed() -> None:
    cloud, shard = fleet("x")
    shard.wants(1)
    shard.cycle()
    cloud.pass_()
    shard.lists()
    told = len(shard.told)
    shard.take(view(2, x="b"))
    assert shard.ids() == []
    assert shard.told[told:] == []


def test_a_drain_of_an_earlier_life_ends_when_the_machine_is_anothers() -> None:
    cloud, shard = fleet("x")
    shard.evicts = False
    shard.wants(1)
    shard.cycle()
    cloud.pass_()
    shard.lists()
    shard.wants(0)
    shard.cycle()
    assert shard.disk[DRAINS].keys() == {"m-0"}
    again = shard.restarts()
    again.take(view(2, x="b"))
    again.lists()
    assert again.disk[DRAINS] == {}
    again.evicts = False
    again.wants(0)
    assert again.evicting == []
