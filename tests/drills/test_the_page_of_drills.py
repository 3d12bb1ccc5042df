"""docs/at-3-am.md tells what the drills see."""

from tests.drills.faults import FAULTS, PAGE, fault_table, table_on_page


def test_the_table_is_that_of_the_drills() -> None:
    """`python -m tests.drills.faults` writes it."""
    assert table_on_page(PAGE.read_text()) == fault_table()


def test_every_fault_of_a_night_has_its_drill() -> None:
    assert [each.name for each in FAULTS] == [
        "provider gone",
        "stock-out",
        "spot wave",
        "forgotten pause",
        "zero demand",
        "quota used up",
        "disk full",
        "lost Nodes",
    ]
