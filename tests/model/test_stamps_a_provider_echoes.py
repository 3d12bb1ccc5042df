"""Worked cases M34-M37: stamps survive the provider, one bad stamp never hides the others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigfleet.model import metadata
from bigfleet.model.machines import Assigned
from bigfleet.model.penalties import PINNED, upper_bound_dollars

STAMPED = Assigned(
    priority=900_000,
    interruption_penalty=8192.0,
    reclamation_penalty=0.5,
    need_fingerprint="p=900000|ipb=16|rpb=2|reqs=|spr=",
    group="rack\0gang-7",
)
BOUNDS = [upper_bound_dollars(bucket) for bucket in range(PINNED + 1)]


def test_all_five_stamps_come_back_as_they_went() -> None:
    assert metadata.decode(metadata.encode(STAMPED), Assigned()) == (STAMPED, [])


def test_the_stamps_are_written_in_the_words_of_the_wire() -> None:
    assert metadata.encode(STAMPED) == {
        "bigfleet.lucy.sh/assigned-priority": "900000",
        "bigfleet.lucy.sh/assigned-interruption-penalty-dollars": "8192",
        "bigfleet.lucy.sh/assigned-reclamation-penalty-dollars": "0.5",
        "bigfleet.lucy.sh/assigned-need-fingerprint": "p=900000|ipb=16|rpb=2|reqs=|spr=",
        "bigfleet.lucy.sh/assigned-group": "rack\0gang-7",
    }


def test_a_machine_without_metadata_keeps_what_it_had() -> None:
    assert metadata.decode(None, STAMPED) == (STAMPED, [])


def test_an_absent_stamp_leaves_its_field_alone() -> None:
    echoed = {metadata.GROUP: "gang-8"}
    decoded, problems = metadata.decode(echoed, STAMPED)
    assert (decoded.group, decoded.priority, problems) == ("gang-8", 900_000, [])


def test_a_foreign_stamp_is_ignored() -> None:
    assert metadata.decode({"example.com/assigned-priority": "7"}, STAMPED) == (STAMPED, [])


@pytest.mark.parametrize(
    "text",
    ["", "seven", "1.5", "1e3", "0x10", " 7", "2147483648", "-2147483649", "1_000", "9" * 5000],
    ids=lambda text: repr(text[:12]),
)
def test_a_malformed_priority_is_reported_and_hides_nothing(text: str) -> None:
    echoed = metadata.encode(STAMPED) | {metadata.PRIORITY: text}
    decoded, problems = metadata.decode(echoed, Assigned(priority=3))
    assert decoded == Assigned(
        3, 8192.0, 0.5, need_fingerprint=STAMPED.need_fingerprint, group=STAMPED.group
    )
    assert len(problems) == 1
    assert problems[0].startswith("bigfleet.lucy.sh/assigned-priority: ")


@pytest.mark.parametrize("text", ["", "much", "NaN", "1_000", "1e", " 5", "$5", "1,5"], ids=repr)
def test_a_malformed_penalty_is_reported_and_leaves_the_other_penalty(text: str) -> None:
    echoed = metadata.encode(STAMPED) | {metadata.INTERRUPTION: text}
    decoded, problems = metadata.decode(echoed, Assigned(interruption_penalty=1.0))
    assert (decoded.interruption_penalty, decoded.reclamation_penalty) == (1.0, 0.5)
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("text", "dollars"),
    [("+Inf", math.inf), ("inf", math.inf), ("8.388608e+06", 8388608.0), (".5", 0.5), ("+7", 7.0)],
    ids=repr,
)
def test_any_float_text_is_read(text: str, dollars: float) -> None:
    decoded, problems = metadata.decode({metadata.RECLAMATION: text}, Assigned())
    assert (decoded.reclamation_penalty, problems) == (dollars, [])


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (1.0, "1"),
        (524288.0, "524288"),
        (1048576.0, "1.048576e+06"),
        (8388608.0, "8.388608e+06"),
        (math.inf, "+Inf"),
        (1000000.0, "1e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
    ],
    ids=lambda v: str(v),
)
def test_dollars_are_written_as_go_programs_write_them(dollars: float, text: str) -> None:
    assert metadata.dollars_text(dollars) == text


@given(st.sampled_from(BOUNDS) | st.floats(allow_nan=False))
def test_dollars_read_back_as_the_same_number(dollars: float) -> None:
    written = {metadata.INTERRUPTION: metadata.dollars_text(dollars)}
    decoded, problems = metadata.decode(written, Assigned())
    assert (decoded.interruption_penalty, problems) == (dollars, [])


@given(
    st.builds(
        Assigned,
        priority=st.integers(-(2**31), 2**31 - 1),
        interruption_penalty=st.sampled_from(BOUNDS),
        reclamation_penalty=st.sampled_from(BOUNDS),
        need_fingerprint=st.text(),
        group=st.text(),
    )
)
def test_every_stamp_comes_back_as_it_was(assigned: Assigned) -> None:
    assert metadata.decode(metadata.encode(assigned), STAMPED) == (assigned, [])
