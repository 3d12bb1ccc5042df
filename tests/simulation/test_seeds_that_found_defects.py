"""Seeds that have found defects of the real code, each with what was wrong."""

from tests.simulation.planted import CONTENDED, OLD_LISTS
from tests.simulation.scenarios import run


def test_what_a_cluster_has_emptied_stays_empty_over_a_restart() -> None:
    """A shard that was restarted told an emptied machine Configured, as its provider had not got
    the drain: the operator took the cordon off, and the drain met pods (law `grace`).
    """
    assert run(OLD_LISTS, 9, CONTENDED).violations == ()
