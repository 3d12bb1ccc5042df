"""What requirements say together: labels that meet all of them, or a contradiction."""

from hypothesis import given
from hypothesis import strategies as st

from bigfleet.podwatch.requirements import (
    ANY_TYPE,
    Requirement,
    contradiction_in,
    excluding,
    met_by,
    narrowed,
)

KEYS = ("zone", "pool")
VALUES = ("a", "b", "c")

requirements = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(KEYS),
            st.sampled_from(["In", "NotIn"]),
            st.sets(st.sampled_from(VALUES), min_size=1).map(lambda found: tuple(sorted(found))),
        ),
        st.tuples(st.sampled_from(KEYS), st.sampled_from(["Exists", "DoesNotExist"]), st.just(())),
    ),
    max_size=4,
)
#: "z" stands for every value that is not named.
machines = [
    {key: value for key, value in (("zone", zone), ("pool", pool)) if value}
    for zone in (*VALUES, "z", "")
    for pool in (*VALUES, "z", "")
]


def served(asked: list[Requirement]) -> list[dict[str, str]]:
    return [machine for machine in machines if met_by(asked, machine)]


@given(requirements)
def test_a_contradiction_is_found_exactly_where_no_machine_could_serve(
    asked: list[Requirement],
) -> None:
    assert (contradiction_in(asked) is not None) == (not served(asked))


@given(requirements, requirements)
def test_narrowed_by_more_the_same_machines_serve_as_serve_both(
    own: list[Requirement], more: list[Requirement]
) -> None:
    both = narrowed(own, more)
    assert served(list(both) if both is not None else [("zone", "In", ())]) == served(own + more)


@given(requirements, requirements)
def test_excluding_leaves_the_same_machines_as_asking_for_both(
    own: list[Requirement], more: list[Requirement]
) -> None:
    both = excluding(own, more)
    if contradiction_in(own) is None:
        assert served(list(both) if both is not None else [("zone", "In", ())]) == served(
            own + more
        )


@given(requirements, requirements)
def test_narrowing_is_written_in_order_and_each_once(
    own: list[Requirement], more: list[Requirement]
) -> None:
    both = narrowed(own, more)
    if both is not None:
        assert list(both) == sorted(set(both))
        assert narrowed(list(reversed(own)), more) == both


def test_a_list_of_values_replaces_what_was_said_of_the_label() -> None:
    own = [("disk", "Exists", ()), ("zone", "In", ("a", "b")), ("zone", "NotIn", ("b",))]
    assert narrowed(own, [("zone", "In", ("a", "c"))]) == (
        ("disk", "Exists", ()),
        ("zone", "In", ("a",)),
    )


def test_any_instance_type_is_said_only_where_nothing_else_is() -> None:
    zone = ("zone", "In", ("a",))
    assert narrowed([ANY_TYPE], [zone]) == (zone,)
    assert narrowed([ANY_TYPE], []) == (ANY_TYPE,)
    assert excluding([ANY_TYPE], [("pool", "NotIn", ("gpu",))]) == (("pool", "NotIn", ("gpu",)),)
