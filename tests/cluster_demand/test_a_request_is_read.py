"""What one CapacityRequest asks for, in the words of a roll-up."""

import pytest

from bigfleet.model.penalties import PINNED
from bigfleet.model.profiles import Spread, WhenUnsatisfiable
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.operator.translator import Translator, translate
from tests.cluster_demand.requests import RACK, TYPE, ZONE, demand, spec, spread, term, together


def test_requirements_are_sorted_and_free_of_duplicates() -> None:
    found = demand(
        requirements=[
            term("Exists", [], ZONE),
            term("In", ["b", "a", "b"]),
            term("NotIn", ["x"]),
            term("DoesNotExist", [], "spot"),
            term("In", ["a", "b"]),
        ]
    )
    assert found.profile.requirements == (
        Requirement(TYPE, Operator.IN, ("a", "b")),
        Requirement(TYPE, Operator.NOT_IN, ("x",)),
        Requirement("spot", Operator.DOES_NOT_EXIST),
        Requirement(ZONE, Operator.EXISTS),
    )


def test_values_of_operators_that_take_none_do_not_tell_demands_apart() -> None:
    assert demand(requirements=[term("Exists", ["x"])]) == demand(requirements=[term("Exists", [])])


def test_one_unit_is_what_the_pod_requests() -> None:
    found = demand(resources={"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": 8})
    assert found.unit == Resources.parse({"cpu": "0.5", "memory": "1024Mi", "nvidia.com/gpu": "8"})


def test_only_spreads_that_bind_are_told() -> None:
    found = demand(
        topologySpread=[spread("ScheduleAnyway"), spread(skew=2), spread(skew=0, key=RACK)]
    )
    strict = WhenUnsatisfiable.DO_NOT_SCHEDULE
    assert found.profile.spread == (Spread(RACK, 1, strict), Spread(ZONE, 2, strict))


def test_the_priority_is_the_pods() -> None:
    assert demand(priority=-5).profile.priority == -5


@pytest.mark.parametrize(
    ("dollars", "bucket"),
    [
        ("0", 1),
        ("-3", 1),
        ("500m", 2),
        ("0.5", 2),
        ("501m", 3),
        (1, 3),
        ("1.0000001", 4),
        ("1k", 13),
        ("1Ki", 13),
        (1024, 13),
        ("8388608", 26),
        ("8388609", PINNED),
        ("1e30", PINNED),
    ],
)
def test_a_penalty_is_the_bucket_of_its_dollars(dollars: object, bucket: int) -> None:
    assert demand(interruptionPenalty=dollars).buckets == (bucket, 0)
    assert demand(reclamationPenalty=dollars).buckets == (0, bucket)


def test_an_absent_penalty_is_not_a_penalty_of_zero() -> None:
    assert demand().profile != demand(interruptionPenalty="0").profile
    assert demand(reclamationPenalty="0").bucket_labels == ("unspecified", "0")


def test_what_belongs_together_becomes_a_gang() -> None:
    found = demand(requirements=[term()], coLocation=together({"app": "db", "a": "b"}))
    assert found.profile.same == Requirement(RACK, Operator.SAME)
    assert found.group == f"{RACK}\0a=b,app=db,;"


def test_a_gangs_name_does_not_depend_on_the_order_of_its_selector() -> None:
    one, other = term("In", ["y", "x"], "job"), term("Exists", [], "app")
    name = f"{RACK}\0k=v,;app Exists ;job In x,y;"
    assert demand(coLocation=together({"k": "v"}, one, other)).group == name
    assert demand(coLocation=together({"k": "v"}, other, one)).group == name


def test_no_selector_and_an_empty_one_are_two_gangs() -> None:
    assert demand(coLocation=together()).group == f"{RACK}\0"
    assert demand(coLocation=together({})).group == f"{RACK}\0;"


def test_without_co_location_there_is_no_gang() -> None:
    found = demand(requirements=[term()])
    assert (found.group, found.profile.same) == ("", None)


def test_the_same_text_is_read_once() -> None:
    translator = Translator()
    text = spec(requirements=[term()])
    first = translator.translate(text)
    assert translator.translate(bytes(bytearray(text))) is first
    assert translate(text) == first
