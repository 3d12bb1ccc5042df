"""For any order of events: no pod is evicted voluntarily without a place to go.

Every eviction is held against a check of its own, made at the moment it is asked for.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import given, settings, strategies
from hypothesis.strategies import SearchStrategy

from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import ReclaimInstruction
from bigfleet.operator.drain_steps import Cordon, Evict, Instruction, Send, Uncordon
from bigfleet.placement.records import NodeView, PodView
from tests.operator_draining.admitting import AdmittingRig
from tests.operator_draining.rig import REFUSED

S = MachineState
KEEP = "bigfleet.lucy.sh/do-not-disrupt: true"
NUMBERS = (1, 2, 3)


class Watched(AdmittingRig):
    """Takes out what is asked for step by step, and holds it against the laws."""

    def __init__(self) -> None:
        #: Instructions that are preemptions, as the shard means it.
        self.for_others: set[str] = set()
        self.seen: list[Instruction] = []
        #: Instructions for which a Node was to be cordoned.
        self.cordoned_for: set[str] = set()
        super().__init__()
        for number in NUMBERS:
            self.room(number)
        self.join(*NUMBERS)
        self.number = 0
        #: How often each machine was claimed again.
        self.times = dict.fromkeys(NUMBERS, 0)

    @property
    def steps(self) -> list[Instruction]:
        """A copy: what is added to it comes back through the setter."""
        return [*self.seen]

    @steps.setter
    def steps(self, steps: list[Instruction]) -> None:
        """Called in the moment the drains ask for it: nothing has changed since."""
        fresh = [step for step in steps if not any(step is each for each in self.seen)]
        self.seen = [*steps]
        for step in fresh:
            if isinstance(step, Evict) and step.instruction_id not in self.for_others:
                self.hold_against_the_law(step)
            if isinstance(step, Cordon):
                self.hold_cordon_against_the_law(step)
                self.cordoned_for.add(step.instruction_id)
            if isinstance(step, Send):
                assert step.ack.instruction_id in self.cordoned_for, "answered unadmitted"

    def hold_against_the_law(self, step: Evict) -> None:
        node, pod = step.pod.node, self.occupancy.pods[step.pod.uid]
        assert self.pods_are_fresh, "evicted by an old view"
        assert self.admissions.is_admitted(node), "evicted without admission"
        assert not pod.do_not_disrupt, "evicted though annotated"
        assert pod.owner, "evicted though no controller starts it again"
        assert any(fits(self, pod, other) for other in self.places(node)), "evicted without a place"

    def hold_cordon_against_the_law(self, step: Cordon) -> None:
        """The first time, that is: a Node may change after it was admitted."""
        name = step.node.metadata.name
        if step.instruction_id in self.for_others:
            return
        assert self.admissions.is_admitted(name), "cordoned without admission"
        if not step.node.spec.unschedulable and step.instruction_id not in self.cordoned_for:
            pods = self.occupancy.movable_on(name)
            assert not any(pod.do_not_disrupt for pod in pods), "cordoned though annotated"
            assert all(pod.owner for pod in pods), "cordoned though no controller starts it again"

    def places(self, node: str) -> Iterable[NodeView]:
        """Nodes that stay: neither cordoned nor asked for."""
        for name, view in self.occupancy.nodes.items():
            is_asked_for = self.drains.instruction_of(view.machine)
            if name != node and not view.cordoned and not is_asked_for:
                yield view

    # -- what may happen -------------------------------------------------------------------------

    def arrives(self, number: int, cpu: int, owner: str, keep: bool) -> None:
        self.number += 1
        name = f"p{self.number}"
        known = self.nodes.node(f"n-{number}")
        if known is not None and not known.spec.unschedulable:
            self.runs(name, f"n-{number}", str(cpu), owner=owner, keep=KEEP if keep else "")

    def ends(self, place: int) -> None:
        pods = [pod for n in NUMBERS for pod in self.pods.left_on(f"n-{n}")]
        if pods:
            self.loses_pod(pods[place % len(pods)])

    def ask(self, number: int, preempts: bool) -> None:
        """One instruction for a machine at a time; it may become a preemption."""
        instruction = f"bf1-{number}-{self.times[number]}"
        if preempts:
            self.for_others.add(instruction)
            self.preemptions.append(instruction)
        asked = ReclaimInstruction(instruction, (f"n-{number}",), 600, 0)
        self.steps += self.drains.on_instruction(asked, self.at)
        self._see_cordons()

    def claims(self, number: int) -> None:
        self.times[number] += 1
        self.tells(S.CONFIGURED, f"m-{number}", f"n-{number}")
        self._see_cordons()

    def answer(self, how: str) -> None:
        """All writes of Nodes, and the first eviction."""
        self.answer_cordons()
        self._see_cordons()
        evictions = self.take(Evict)
        for step in evictions:
            assert isinstance(step, Evict)
            if how == "refused":
                self.refuse(step.pod, REFUSED)
            elif self.pods.get(step.pod.key) is not None:
                view = self.occupancy.pods[step.pod.uid]
                self.evict(step.pod)
                if how == "placed":
                    self._place(view)

    def _place(self, view: PodView) -> None:
        """As a scheduler does: the successor goes where it fits."""
        self.number += 1
        free = [other for other in self.places("") if fits(self, view, other)]
        if free:
            cpu = f"{view.requests['cpu']}m"
            self.runs(f"p{self.number}", free[0].name, cpu, owner=view.owner)

    def look_away(self, fresh: bool) -> None:
        self.pods_are_fresh = fresh

    def rest(self) -> None:
        """Everything is answered, and no Node that stays is cordoned."""
        self.pods_are_fresh = True
        for _ in range(3):
            self.answer("refused")
            self.wait(1)
        self.answer("refused")
        for number in NUMBERS:
            name = f"n-{number}"
            admitted = self.admissions.is_admitted(name)
            held = any(i in self.for_others for i in self.drains.open_instructions)
            if not admitted and not held and not self.drains.instruction_of(name.replace("n", "m")):
                assert not self.is_cordoned(name), "left cordoned"


def fits(rig: Watched, pod: PodView, other: NodeView) -> bool:
    """By hand: what its pods ask for leaves enough."""
    taken = sum(each.requests["cpu"] for each in rig.occupancy.pods_on(other.name).values())
    return other.allocatable["cpu"] - taken >= pod.requests["cpu"]


class Step(NamedTuple):
    name: str
    arguments: tuple[object, ...]


def step(name: str, *arguments: SearchStrategy[object]) -> SearchStrategy[Step]:
    return strategies.tuples(*arguments).map(lambda drawn: Step(name, drawn))


number = strategies.sampled_from(NUMBERS)
OFTEN = (
    (
        5,
        step(
            "arrives",
            number,
            strategies.integers(1, 7),
            strategies.sampled_from(("web", "web", "web", "db", "")),
            strategies.sampled_from((False, False, False, False, True)),
        ),
    ),
    (2, step("ends", strategies.integers(0, 9))),
    (5, step("ask", number, strategies.sampled_from((False, False, True)))),
    (1, step("claims", number)),
    (5, step("answer", strategies.sampled_from(("placed", "placed", "gone", "refused")))),
    (6, step("wait", strategies.sampled_from((1, 5, 16, 35)))),
    (1, step("look_away", strategies.booleans())),
    (1, step("rest")),
)
steps = strategies.one_of([each for times, each in OFTEN for _ in range(times)])


@settings(max_examples=150)
@given(strategies.lists(steps, min_size=10, max_size=40))
def test_no_pod_is_evicted_voluntarily_without_a_place(schedule: list[Step]) -> None:
    rig = Watched()
    for name, arguments in schedule:
        getattr(rig, name)(*arguments)
    rig.rest()


def test_the_laws_are_met_by_drains_that_get_somewhere() -> None:
    """The generated schedules could be held lawful by doing nothing."""
    rig = Watched()
    rig.arrives(1, 2, "web", False)
    rig.arrives(1, 3, "web", False)
    rig.ask(1, False)
    rig.wait(16)
    rig.answer("placed")
    rig.answer("placed")
    rig.wait(5)
    assert rig.counts.of("reclaims_total", result="evicted") == 1
    assert not [each for each in rig.seen if isinstance(each, Uncordon)]
