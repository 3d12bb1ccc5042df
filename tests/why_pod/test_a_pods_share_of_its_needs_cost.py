"""What a pod costs: its part of the machines of its Need. Law: the shares add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.explain.pod_chain import cost_share, explain_pod
from bigfleet.explain.pod_needs import needs_of_request
from bigfleet.model.need_states import NeedState
from bigfleet.model.resources import Resources
from tests.why_pod.chains import KEY, UNIT, chain, machine, row, served, step

UNITS = st.builds(
    lambda cpu, memory: Resources.of({"cpu": cpu, "memory": memory}),
    st.integers(0, 64_000),
    st.integers(0, 2**40),
)


def test_two_pods_on_one_machine_pay_half_each() -> None:
    share = cost_share(UNIT, UNIT.times(2), [machine(price=0.8)])
    assert (share.dollars, share.part, share.dimension) == (0.4, 0.5, "cpu")


def test_the_margins_machines_are_paid_for_by_the_pods_that_wanted_them() -> None:
    extra = machine("m-9", price=0.2, claimed_by=KEY._replace(group="margin"))
    facts = chain(served(row(pods=3), machines=(machine(price=0.4), extra)))
    answer = explain_pod(facts)
    assert answer.dollars_per_hour == pytest.approx(0.2)
    assert step(answer, "cost").text == (
        "$0.20/h: 33.3% of cpu of the Need, whose 2 machines cost $0.60/h"
    )


def test_a_pod_without_machines_has_no_price() -> None:
    answer = explain_pod(chain(served(row(NeedState.SHORT, satisfied=False, claimed=0))))
    assert answer.dollars_per_hour is None


@given(
    st.lists(UNITS, min_size=1, max_size=8),
    st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=5),
)
def test_the_shares_of_all_pods_add_up_to_what_the_machines_cost(
    units: list[Resources], prices: list[float]
) -> None:
    wanted = Resources()
    for unit in units:
        wanted = wanted.plus(unit)
    machines = [machine(f"m-{n}", price=price) for n, price in enumerate(prices)]
    shares = [cost_share(unit, wanted, machines) for unit in units]
    whole = sum(prices) if any(amount for _, amount in wanted.amounts) else 0.0
    assert sum(share.dollars for share in shares) == pytest.approx(whole)
    assert all(0 <= share.part <= 1 for share in shares)


# -- which Need it is ------------------------------------------------------------------------------


def test_the_need_of_the_key_is_found_with_its_margin_and_no_other() -> None:
    own, margin, other = row(), row(group="margin"), row(group="margin:large-cpu")
    assert needs_of_request([other, margin, own], KEY, UNIT) == ((own,), (margin,))


def test_a_request_of_an_odd_size_is_found_in_the_group_whose_largest_pod_covers_it() -> None:
    small = row(group="large-memory", min_unit=Resources.parse({"cpu": "1", "memory": "64Gi"}))
    large = row(group="large-cpu")
    assert needs_of_request([small, large], KEY, UNIT) == ((large,), ())


def test_a_gang_is_never_looked_for_among_sizes() -> None:
    assert needs_of_request([row(group="large-cpu")], KEY._replace(group="g"), UNIT) == ((), ())
