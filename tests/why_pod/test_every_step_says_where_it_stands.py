"""Worked cases of the way from a pod to its machines: one for every place where it may stop."""

from dataclasses import replace

import pytest

from bigfleet.explain.pod_chain import PodVerdict, StepStatus, explain_pod
from bigfleet.explain.pod_facts import (
    ChainFacts,
    ControllerFacts,
    NodeFacts,
    PodFacts,
    SessionFacts,
    ToldEvent,
    UpcomingFacts,
)
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from tests.why_pod.chains import (
    KEY,
    POD,
    REQUEST,
    SAID,
    SESSION,
    bound,
    chain,
    machine,
    row,
    served,
    step,
    steps,
    upcoming,
)

BOTH = (machine("m-1"), machine("m-2"))

# -- the headline ----------------------------------------------------------------------------------


def test_a_need_that_is_short_is_the_headline_with_its_reason() -> None:
    text = "4 of 4 machines fail instance-type in [gpu-8]"
    short = row(NeedState.SHORT, satisfied=False, claimed=0, code="supply.requirement", text=text)
    answer = explain_pod(chain(served(short)))
    assert (answer.verdict, answer.sentence) == (PodVerdict.SHORT, text)
    assert step(answer, "need").status is StepStatus.WAITS
    assert "is short; it lacks cpu 5, memory 1Gi; 4 of 4 machines" in step(answer, "need").text
    assert step(answer, "machines").status is StepStatus.MISSING
    assert f"bigfleet why-not need/east/{KEY.need_id}" in answer.remedies


@pytest.mark.parametrize("state", [NeedState.ARRIVING, NeedState.BLOCKED])
def test_a_need_whose_machines_have_not_come_is_the_headline(state: NeedState) -> None:
    coming = (machine("m-1"), machine("m-2", MachineState.CONFIGURING))
    waiting = row(state, arriving=1, text="1 machine is on its way", remedy="bigfleet resume p-1")
    answer = explain_pod(chain(served(waiting, machines=coming)))
    assert (answer.verdict.value, answer.sentence) == (state.label, "1 machine is on its way")
    assert "2 machines: 1 Configuring, 1 Configured" in step(answer, "machines").text
    assert answer.remedies[0] == "bigfleet resume p-1"


@pytest.mark.parametrize("state", [NeedState.MET, NeedState.BLOCKED])
def test_a_satisfied_need_and_a_pod_without_a_node_is_covered_and_not_placed(
    state: NeedState,
) -> None:
    answer = explain_pod(chain(served(row(state), machines=BOTH)))
    assert answer.verdict is PodVerdict.COVERED_NOT_PLACED
    assert answer.sentence == f"the scheduler says: {SAID}"


def test_covered_before_the_scheduler_has_spoken_says_so() -> None:
    silent = replace(POD, scheduler_text="", is_unschedulable=False)
    answer = explain_pod(chain(served(row(), machines=BOTH), pod=silent))
    assert "nothing yet" in answer.sentence
    assert "has not spoken of it" in step(answer, "pod").text


def test_a_bound_pod_names_its_node_and_its_machine() -> None:
    answer = explain_pod(chain(served(row(), machines=BOTH), **bound()))
    assert answer.verdict is PodVerdict.BOUND
    assert answer.sentence == "it runs on node node-m-1, which is machine/m-1"
    assert step(answer, "node").text.endswith("machine/m-1, UpcomingNode un-m-1 Ready")
    assert step(answer, "node").refs == ("machine/m-1",)
    assert all(each.status is StepStatus.DONE for each in answer.steps if each.name != "cost")


def test_a_pod_on_a_node_of_the_clusters_own_is_not_of_the_fleet() -> None:
    why = "it runs on own-1, which is not a machine of the fleet"
    pod = PodFacts("shop/web-1", node="own-1", why_not_demand=why)
    answer = explain_pod(ChainFacts("east", pod, node=NodeFacts("own-1")))
    assert (answer.verdict, "not a machine of the fleet" in answer.sentence) == (
        PodVerdict.BOUND,
        True,
    )
    assert step(answer, "request").text == f"no CapacityRequest: {why}"
    assert step(answer, "request").status is StepStatus.NOTE


def test_a_node_that_is_gone_cordoned_or_unreadable_is_told() -> None:
    lost = explain_pod(chain(pod=PodFacts("shop/web-1", node="n"), node=NodeFacts("n", "", False)))
    assert step(lost, "node").status is StepStatus.MISSING
    kept = NodeFacts("n", "m-1", is_ready=False, is_cordoned=True)
    assert (
        "(not Ready, cordoned)" in step(explain_pod(chain(node=kept, pod=kept_pod())), "node").text
    )
    unread = chain(pod=kept_pod(), node=NodeFacts("n"), upcoming_unread="you may not list them")
    assert step(explain_pod(unread), "node").status is StepStatus.UNKNOWN


def kept_pod() -> PodFacts:
    return PodFacts("shop/web-1", node="n")


def test_a_pod_that_has_ended_needs_nothing() -> None:
    ended = PodFacts("shop/web-1", has_ended=True, why_not_demand="it has ended")
    answer = explain_pod(ChainFacts("east", ended))
    assert answer.verdict is PodVerdict.ENDED


# -- no request ------------------------------------------------------------------------------------


def asked(**facts: object) -> tuple[PodVerdict, str]:
    answer = explain_pod(replace(ChainFacts("east", POD), **facts))  # type: ignore[arg-type]
    assert [each.name for each in answer.steps] == ["pod", "request"]
    return answer.verdict, answer.sentence


def test_a_pod_that_is_no_demand_says_why() -> None:
    gated = replace(POD, why_not_demand="it has scheduling gates, so no machine would run it")
    verdict, text = asked(pod=gated)
    assert verdict is PodVerdict.NOT_ASKED_FOR
    assert "scheduling gates" in text


def test_a_pod_that_may_still_find_room_is_waited_for() -> None:
    young = replace(POD, why_not_yet="it has 3 s to find room")
    assert asked(pod=young) == (PodVerdict.NOT_YET_ASKED_FOR, "it has 3 s to find room")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "no lease bigfleet-podwatch is in this cluster"),
        ({"controller": ControllerFacts("")}, "no replica of bigfleet podwatch holds its lease"),
        ({"controller": ControllerFacts("a", 90.0)}, "a has not renewed its lease for 90 s"),
        ({"controller": ControllerFacts("a", 3.0)}, "its settings leave the pod out"),
        ({"controller_unread": "leases is forbidden"}, "could not be read: leases is forbidden"),
        ({"requests_unread": "forbidden"}, "whether there is one could not be read: forbidden"),
    ],
    ids=["never ran", "no holder", "down", "runs", "unreadable", "requests unreadable"],
)
def test_a_pod_that_should_ask_and_has_no_request_says_what_is_known_of_the_controller(
    facts: dict[str, object], said: str
) -> None:
    verdict, text = asked(**facts)
    assert verdict is PodVerdict.NOT_ASKED_FOR
    assert said in text


def test_volumes_and_a_booking_are_named_among_what_may_keep_a_pod_from_asking() -> None:
    kept = replace(POD, claims=("data-0",), booking="batch-7")
    _, text = asked(pod=kept, controller=ControllerFacts("a", 3.0))
    assert "its volumes (data-0) are where no machine of the fleet is" in text
    assert "its share of ProvisioningRequest batch-7 is on its way" in text


def test_what_of_the_pod_is_not_translated_is_told_once() -> None:
    note = ToldEvent("UnsupportedOperator", "BigFleet cannot ask for machines by comparison")
    answer = explain_pod(chain(pod=replace(POD, notes=(note,), events=(note,))))
    told = [each.text for each in steps(answer, "pod") if each.status is StepStatus.NOTE]
    assert told == ["UnsupportedOperator: BigFleet cannot ask for machines by comparison"]


# -- the request and the operator ------------------------------------------------------------------


def test_a_request_that_cannot_be_translated_is_the_end_of_the_way() -> None:
    text = "it cannot be told to a fleet: spec.requirements[0].operator: Gt on cores compares"
    odd = replace(REQUEST, key=None, untranslatable=text)
    answer = explain_pod(chain(request=odd))
    assert answer.verdict is PodVerdict.NOT_ASKED_FOR
    assert answer.sentence.endswith(text)
    assert answer.steps[-1].name == "request"


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (SESSION, "its last roll-up came 4 s ago"),
        (SessionFacts(False, 90.0), "the cluster's operator is not connected"),
        (SessionFacts(True), "the operator has sent no roll-up yet"),
        (SessionFacts(True, 1.0, "too many rows"), "refused the cluster's last roll-up: too many"),
    ],
    ids=["on its way", "not connected", "no roll-up", "refused"],
)
def test_a_request_that_the_shard_does_not_know_says_where_the_line_stands(
    session: SessionFacts, said: str
) -> None:
    event = ToldEvent("TooMuchDemand", "the cluster's budget is used up")
    pending = replace(REQUEST, phase="Pending", events=(event,))
    answer = explain_pod(chain(replace(served(), session=session), request=pending))
    assert answer.verdict is PodVerdict.NOT_YET_ASKED_FOR
    assert said in step(answer, "operator").text
    assert "TooMuchDemand: the cluster's budget is used up" in step(answer, "operator").text
    assert step(answer, "operator").status is StepStatus.WAITS
    assert "not acknowledged" in step(answer, "need").text


def test_an_acknowledged_request_without_a_need_may_be_of_another_cluster() -> None:
    answer = explain_pod(chain(served()))
    assert "--kube-context" in answer.sentence


def test_a_shard_that_gives_no_answer_ends_the_way_there() -> None:
    answer = explain_pod(chain(None))
    assert [each.name for each in answer.steps] == ["pod", "request", "need"]
    assert "no shard has answered" in answer.sentence


def test_a_request_tells_its_term_its_like_and_that_it_goes() -> None:
    odd = replace(REQUEST, term="2/3", others=1, is_leaving=True)
    text = step(explain_pod(chain(served(row(), machines=BOTH), request=odd)), "request").text
    assert "node affinity term 2/3" in text
    assert "1 more of the same pod" in text
    assert "being deleted" in text


def test_a_request_that_no_pod_made_is_told_by_the_state_of_its_need() -> None:
    made = replace(REQUEST, made_for="CapacityBuffer shop/spare")
    answer = explain_pod(chain(served(row(), machines=BOTH), pod=None, request=made))
    assert answer.verdict is PodVerdict.MET
    assert "made for CapacityBuffer shop/spare" in step(answer, "request").text


# -- revised demand, Nodes, refused reclaims -------------------------------------------------------


def test_revised_demand_is_told_with_its_margin_its_stuck_pods_and_its_events() -> None:
    margin = row(NeedState.ARRIVING, group="margin", pods=1, claimed=1)
    raised = ToldEvent("MachinesAddedForStuckPods", "asked for 1 more machine")
    shard = served(row(NeedState.BLOCKED, stuck_pods=2), machines=BOTH, margins=(margin,))
    answer = explain_pod(chain(shard, pod=replace(POD, events=(raised,))))
    told = [each.text for each in steps(answer, "revised")]
    assert "asks for cpu 5, memory 1Gi more in need/east/" in told[0]
    assert "(margin): arriving, 1 machine" in told[0]
    assert told[1] == "2 pods of this Need wait though its machines are there"
    assert told[2] == "MachinesAddedForStuckPods: asked for 1 more machine"
    assert not [each for each in steps(answer, "pod") if each.status is StepStatus.NOTE]


def test_machines_of_a_margin_are_not_counted_as_the_needs_own() -> None:
    extra = machine("m-9", claimed_by=KEY._replace(group="margin"))
    answer = explain_pod(chain(served(row(), machines=(*BOTH, extra))))
    assert step(answer, "machines").text == "2 machines: 2 Configured"


def test_every_machine_tells_its_upcoming_node_those_that_wait_first() -> None:
    known = upcoming("m-1") | {"m-2": UpcomingFacts("un-m-2", "Launched", "", "no route")}
    three = (*BOTH, machine("m-3", MachineState.CREATING))
    answer = explain_pod(chain(served(row(claimed=3), machines=three), upcoming=known))
    told = [(each.status, each.text) for each in steps(answer, "nodes")]
    assert told == [
        (
            StepStatus.WAITS,
            "machine/m-2: UpcomingNode un-m-2 is Launched, no Node yet: no route",
        ),
        (StepStatus.WAITS, "machine/m-3 (Creating) has no UpcomingNode"),
        (StepStatus.DONE, "machine/m-1: UpcomingNode un-m-1 is Ready, node node-m-1"),
    ]


def test_many_machines_are_cut_and_counted() -> None:
    many = tuple(machine(f"m-{n:02}") for n in range(20))
    answer = explain_pod(chain(served(row(claimed=25), machines=many)))
    assert steps(answer, "nodes")[-1].text == "and 12 more"
    assert step(answer, "machines").text == "25 machines: 20 Configured, 5 more"


def test_a_refused_reclaim_of_its_machine_is_told() -> None:
    refused = {"m-1": "not given back now: pod shop/web-1 has no place to go", "x": "another"}
    event = ToldEvent("ReclaimRefused", "node n is kept")
    shard = served(row(), machines=BOTH, refused_reclaims=refused)
    facts = chain(shard, **bound())
    assert facts.pod is not None
    answer = explain_pod(replace(facts, pod=replace(facts.pod, events=(event,))))
    assert [each.text for each in steps(answer, "reclaim")] == [
        "machine/m-1 is wanted back: not given back now: pod shop/web-1 has no place to go",
        "ReclaimRefused: node n is kept",
    ]


def test_pods_that_ask_by_size_tell_the_other_needs_it_may_be_in() -> None:
    groups = (row(group="large-cpu"), row(group="large-memory"))
    answer = explain_pod(chain(served(*groups, machines=BOTH)))
    other = groups[1].view.need.key.need_id
    assert f"it may also be in need/east/{other}" in step(answer, "need").text
