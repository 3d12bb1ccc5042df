"""The domain chooser, on totals alone; every case also with its buckets in reverse."""

from dataclasses import dataclass
from itertools import permutations

import numba
import numpy as np
import pytest

from bigfleet.engine.coverage import DomainCoverage, domain_coverages, permille_of
from bigfleet.engine.kernels.compiled import Int, Int32s, Int64s, Int64Table
from bigfleet.engine.kernels.domains import choose_domain
from bigfleet.model.resources import Resources
from tests.worlds.racks import cpus

#: (cpu, memory) of one machine.
Amounts = tuple[int, int]
SMALL: Amounts = (4, 0)
WITH_MEMORY: Amounts = (4, 16)


@dataclass(frozen=True, slots=True)
class Rack:
    value: str
    acquirable: tuple[Amounts, ...] = ()
    creditable: tuple[Amounts, ...] = ()
    #: Those of the creditable that are the gang's own.
    own: tuple[Amounts, ...] = ()


def total(machines: tuple[Amounts, ...]) -> Amounts:
    return (sum(cpu for cpu, _ in machines), sum(memory for _, memory in machines))


def matrix(
    racks: list[Rack], rows: list[Amounts]
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(rows, np.int64).reshape(len(racks), 2)


@numba.njit  # type: ignore[untyped-decorator]
def chosen(
    wanted: Int64s,
    domains: Int32s,
    count: Int64s,
    total: Int64Table,
    creditable: Int64Table,
    own: Int64Table,
) -> Int:
    """A way in: the chooser itself is part of the pre-pass, and Python cannot call it."""
    return choose_domain(wanted, domains, count, total, creditable, own)


def choice(racks: list[Rack], wanted: Amounts) -> str | None:
    order = sorted(rack.value for rack in racks)
    best = chosen(
        np.array(wanted, np.int64),
        np.array([order.index(rack.value) for rack in racks], np.int32),
        np.array([len(rack.acquirable) + len(rack.creditable) for rack in racks], np.int64),
        matrix(racks, [total(rack.acquirable + rack.creditable) for rack in racks]),
        matrix(racks, [total(rack.creditable) for rack in racks]),
        matrix(racks, [total(rack.own) for rack in racks]),
    )
    return racks[best].value if best >= 0 else None


def free(value: str, count: int) -> Rack:
    return Rack(value, acquirable=(SMALL,) * count)


def bound(value: str, count: int, own: int = 0) -> Rack:
    return Rack(value, creditable=(SMALL,) * count, own=(SMALL,) * own)


CASES = [
    pytest.param([free("a", 1), free("b", 2)], 8, "b", id="D1: only b covers"),
    pytest.param([free("a", 4), free("b", 3)], 10, "b", id="D2: the tighter of two that cover"),
    pytest.param([free("a", 1), free("b", 3)], 20, "b", id="D3: neither covers, b offers more"),
    pytest.param([free("b", 2), free("a", 2)], 8, "a", id="D5: alike, the smaller name"),
    pytest.param(
        [free("a", 2), Rack("b", (WITH_MEMORY, WITH_MEMORY), (SMALL,))],
        12,
        "b",
        id="D7: credited and free add up; unwanted memory does not matter",
    ),
    pytest.param([], 8, None, id="D8: none"),
    pytest.param([free("a", 2), bound("b", 3)], 6, "b", id="D9: credit beats a tighter fit"),
    pytest.param([free("a", 2), bound("b", 2)], 8, "b", id="D10: credit beats the name"),
    pytest.param([bound("a", 3), bound("b", 3, own=3)], 12, "b", id="own beats the name"),
    pytest.param([bound("a", 2), free("b", 3)], 20, "b", id="more coverage beats credit"),
    pytest.param([free("a", 2), bound("b", 2)], 20, "b", id="at equal coverage credit decides"),
    pytest.param(
        [bound("a", 2), bound("b", 2, own=2)], 20, "b", id="E34: at equal credit what is its own"
    ),
    pytest.param([bound("a", 3), bound("b", 2, own=2)], 20, "a", id="own does not beat coverage"),
    pytest.param(
        [bound("a", 2), Rack("b", (SMALL,), (SMALL,), (SMALL,))],
        20,
        "a",
        id="own does not beat credit",
    ),
    pytest.param(
        [Rack("a", ((8, 0),)), free("b", 2)], 8, "b", id="at equal totals more machines decide"
    ),
    pytest.param([Rack("a"), free("b", 1)], 8, "b", id="an empty bucket is skipped"),
    pytest.param([Rack("a")], 8, None, id="nothing but an empty bucket"),
]


@pytest.mark.parametrize(("racks", "wanted", "chosen"), CASES)
def test_the_domain_chosen(racks: list[Rack], wanted: int, chosen: str | None) -> None:
    orders = [list(order) for order in permutations(racks)]
    assert [choice(order, (wanted, 0)) for order in orders] == [chosen] * len(orders)


@pytest.mark.parametrize(
    ("have", "wanted", "permille"),
    [
        pytest.param([8000], [8000], 1000, id="D17"),
        pytest.param([4000], [8000], 500, id="D18"),
        pytest.param([8000, 1000], [8000, 4000], 250, id="D19"),
        pytest.param([0], [8000], 0, id="D20"),
        pytest.param([8000], [0], 1000, id="D21"),
        pytest.param([16000], [8000], 1000, id="D22"),
        pytest.param([7999], [8000], 999, id="almost is rounded down"),
    ],
)
def test_coverage_is_that_of_the_scarcest_dimension(
    have: list[int], wanted: list[int], permille: int
) -> None:
    assert permille_of(amounts(have), amounts(wanted)) == permille


def amounts(values: list[int]) -> Resources:
    return Resources.of(dict(zip(("cpu", "memory"), values, strict=False)))


SIXTEEN_PEBIBYTES = 16 << 50


def test_coverage_of_a_huge_demand_is_exact() -> None:
    huge = amounts([0, SIXTEEN_PEBIBYTES])
    assert permille_of(huge, huge) == 1000


def test_candidates_are_listed_best_covered_first() -> None:
    """D23."""
    racks = [
        ("rack-1", [cpus(4), cpus(4)]),
        ("rack-2", [cpus(4), cpus(4), cpus(8)]),
        ("rack-3", [cpus(12)]),
        ("rack-4", []),
    ]
    for offers in (racks, racks[::-1]):
        assert domain_coverages(cpus(16), offers) == [
            DomainCoverage("rack-2", True, 1000),
            DomainCoverage("rack-3", False, 750),
            DomainCoverage("rack-1", False, 500),
        ]


def test_equally_covered_candidates_go_by_name_and_only_six_are_listed() -> None:
    offers = [(f"rack-{i}", [cpus(4)]) for i in reversed(range(9))]
    listed = domain_coverages(cpus(8), offers)
    assert [coverage.domain for coverage in listed] == [f"rack-{i}" for i in range(6)]


def test_a_dimension_a_domain_lacks_is_not_covered() -> None:
    assert domain_coverages(cpus(4, 16), [("a", [cpus(64)])]) == [DomainCoverage("a", False, 0)]
