"""The laws of revised demand, over any pods, Nodes and replies."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as some

from bigfleet.placement.records import PodView
from tests.placement.situation import MACHINE, Situation
from tests.placement.small import alone, pod

SIZES = some.sampled_from(["100m", "1", "2500m", "5", "8"])
#: What happens to the cluster or is heard of the shard.
LOOKS = some.tuples(some.just("look"), some.integers(0, 3))
STEPS = some.lists(
    some.one_of(
        LOOKS,
        LOOKS,
        LOOKS,
        some.tuples(some.just("stuck"), SIZES),
        some.tuples(some.just("alone"), SIZES),
        some.tuples(some.just("placed"), some.just("100m")),
        some.tuples(some.just("bind"), some.integers(0, 5)),
        some.tuples(some.just("end"), some.integers(0, 5)),
        some.tuples(some.just("node"), some.just(0)),
        some.tuples(some.just("wait"), some.sampled_from([1, 11, 61, 130, 2000])),
        some.tuples(some.just("reply"), some.integers(0, 3)),
        some.tuples(some.just("judge"), some.just(0)),
        some.tuples(some.just("restart"), some.just(0)),
    ),
    min_size=12,
    max_size=40,
)


class MarginsRig:
    def __init__(self) -> None:
        self.situation = Situation()
        self.situation.nodes(1)
        self.number = 0
        #: Whether a pod was ever unschedulable.
        self.ever_stuck = False
        self.row_machines = 0

    def play(self, kind: str, value: object) -> None:
        now = self.situation
        match kind:
            case "stuck" | "alone":
                self.number += 1
                shape = alone if kind == "alone" else pod
                now.stuck(shape(f"p{self.number}", str(value)))
                self.ever_stuck = True
            case "placed":
                self.number += 1
                now.put(pod(f"p{self.number}", str(value), node=self.last_node()))
            case "bind":
                waiting = sorted(now.occupancy.all_waiting(), key=lambda p: p.uid)
                for each in waiting[: 1 if isinstance(value, int) and value else 0]:
                    now.occupancy.put_pod(replace(each, node=self.last_node()), now.at)
            case "end":
                pods = self.pods()
                if pods and isinstance(value, int):
                    now.occupancy.remove_pod(pods[value % len(pods)].uid, now.at)
            case "node":
                now.nodes(1, first=len(now.occupancy.nodes) + 1)
            case "judge":
                now.judge_again()
            case "look":
                now.after(11)
                now.judge_again()
                self.play("reply", value)
            case "wait":
                assert isinstance(value, int)
                now.after(value)
            case "restart":
                now.restart()
                now.reply(self.own_machines(), self.row_machines)
            case "reply":
                assert isinstance(value, int)
                now.send()
                wanted = now.sent[1].aggregate if len(now.sent) > 1 else None
                self.row_machines = 0
                if wanted is not None:
                    covering = max(-(-a // MACHINE[n]) for n, a in wanted.amounts)
                    # The shard may have fewer than are asked for.
                    self.row_machines = min(covering, value * 4)
                now.reply(self.own_machines(), self.row_machines)

    def last_node(self) -> str:
        return f"n{len(self.situation.occupancy.nodes)}"

    def pods(self) -> list[PodView]:
        return sorted(self.situation.occupancy.pods.values(), key=lambda p: p.uid)

    def own_machines(self) -> int:
        asked = self.situation.asked()
        return max((-(-a // MACHINE[n]) for n, a in asked.amounts), default=0)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_margins_keep_their_laws(steps: list[tuple[str, object]]) -> None:
    player = MarginsRig()
    for kind, value in steps:
        player.play(kind, value)
        situation = player.situation
        rounds = situation.margins.figures.rounds
        row_before, own = player.row_machines, player.own_machines()
        situation.send()
        situation.turn()
        rows = situation.send()
        margins = rows[1:] if situation.occupancy.pods else ()
        # The own row is the sum of requests, and a margin is one amount of one dimension.
        if situation.occupancy.pods:
            assert rows[0].aggregate == situation.asked()
        assert len(margins) <= 1
        assert all(len(row.aggregate.amounts) == 1 for row in margins)
        # Zero while no pod was ever stuck.
        if not player.ever_stuck:
            assert margins == ()
        # A round asks for no more machines than the Need has, or three.
        if situation.margins.figures.rounds > rounds:
            ((name, amount),) = margins[0].aggregate.amounts
            asked_for = -(-amount // MACHINE[name])
            assert asked_for - row_before <= max(3, own + row_before)
        # The same once more changes nothing.
        assert not situation.turn()
        assert situation.send() == rows


@settings(max_examples=100, deadline=None)
@given(STEPS, some.integers(0, 3))
def test_a_margin_no_pod_waits_for_never_asks_for_more_than_its_row_has(
    steps: list[tuple[str, object]], machines: int
) -> None:
    player = MarginsRig()
    for kind, value in steps:
        player.play(kind, value)
        player.situation.turn()
    for each in list(player.situation.occupancy.all_waiting()):
        player.situation.occupancy.remove_pod(each.uid, player.situation.at)
    for _ in range(2):
        player.play("reply", machines)
        player.situation.turn()
    rows = player.situation.send()
    for row in rows[1:]:
        ((name, amount),) = row.aggregate.amounts
        assert amount <= player.row_machines * MACHINE[name]
