"""Price book, interruption model, catalog."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.edge.clock import SECOND
from bigfleet.model.errors import BadInput
from bigfleet.provider import (
    CapacityType,
    Catalog,
    InterruptionModel,
    OfferingKey,
    Price,
    PriceBook,
    Reserve,
)

SPOT = OfferingKey("std-2", "z1", CapacityType.SPOT)
ON_DEMAND = OfferingKey("std-2", "z1", CapacityType.ON_DEMAND)


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    path = tmp_path / "prices.json"
    path.write_text(
        json.dumps(
            [
                {"instance_type": "std-2", "price": 1.0},
                {"instance_type": "std-2", "price": 2.0, "zone": "z2"},
                {"instance_type": "std-2", "price": 0.3, "capacity_type": "spot"},
            ]
        )
    )
    return PriceBook.seeded(path, currency_factor=2.0)


def test_the_most_exact_entry_of_the_seed_counts(book: PriceBook) -> None:
    assert book.price(ON_DEMAND) == 2.0
    assert book.price(ON_DEMAND._replace(zone="z2")) == 4.0
    assert book.price(SPOT) == 0.6
    assert book.price(SPOT._replace(instance_type="x")) is None


def test_a_small_move_is_held_back_and_a_large_one_told(book: PriceBook) -> None:
    assert book.refresh({SPOT: Price(0.31)}, 1).offerings == {SPOT: Price(0.62)}
    assert book.refresh({SPOT: Price(0.312)}, 2).offerings == {}
    assert book.price(SPOT) == 0.62
    assert book.refresh({SPOT: Price(0.32)}, 3).offerings == {SPOT: Price(0.64)}


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20))
def test_a_priced_type_never_becomes_free_or_senseless(quotes: list[float]) -> None:
    book = PriceBook()
    book.refresh({SPOT: Price(0.3)}, 1)
    for quote in quotes:
        book.refresh({SPOT: Price(quote)}, 2)
        price = book.price(SPOT)
        assert price is not None
        assert math.isfinite(price)
        assert price > 0


def test_small_moves_add_up_to_a_large_one() -> None:
    book = PriceBook()
    book.refresh({SPOT: Price(1.0)}, 1)
    told = [book.refresh({SPOT: Price(1.0 + n * 0.004)}, 2).offerings for n in range(1, 6)]
    assert [bool(table) for table in told] == [False, False, True, False, False]


def test_the_age_counts_from_the_last_refresh(book: PriceBook) -> None:
    assert book.age_seconds(10 * SECOND) == math.inf
    book.refresh({}, 10 * SECOND)
    assert book.age_seconds(15 * SECOND) == 5


def test_a_bad_seed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text('[{"instance_type": "a", "price": 1, "capacity_type": "weekly"}]')
    with pytest.raises(BadInput, match="capacity_type"):
        PriceBook.seeded(path)


def test_risk_is_the_forecast_until_a_notice_and_decays_back_to_it() -> None:
    model = InterruptionModel({"std-2": 0})
    assert model.risk(SPOT, 0) == 0.025
    assert model.risk(SPOT._replace(instance_type="x"), 0) == 0.125
    assert model.risk(ON_DEMAND, 0) == 0.0
    model.observe(SPOT, 0)
    assert model.risk(SPOT, 0) == 1.0
    assert model.risk(SPOT, 1800 * SECOND) == 0.5
    assert model.risk(SPOT, 86_400 * SECOND) == 0.025


@given(st.integers(-5, 20), st.integers(0, 10**15))
def test_the_risk_of_spot_is_never_nothing_and_never_more_than_all(bucket: int, now: int) -> None:
    model = InterruptionModel({"std-2": bucket})
    model.observe(SPOT, 0)
    assert 0.0 < model.risk(SPOT, now) <= 1.0


def test_a_node_offers_what_the_reserve_leaves(tmp_path: Path) -> None:
    path = tmp_path / "types.json"
    path.write_text('[{"name": "std-8", "vcpus": 8, "memory_mib": 32768, "gpus": 1}]')
    catalog = Catalog.load(path)
    assert catalog.resources("std-8") == {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    assert catalog.allocatable("std-8") == {
        "cpu": "7500m",
        "memory": "28Gi",
        "nvidia.com/gpu": "1",
    }
    none = Catalog.load(path, Reserve(0, 0.0, 0, 0.0))
    assert none.allocatable("std-8") == none.resources("std-8")
