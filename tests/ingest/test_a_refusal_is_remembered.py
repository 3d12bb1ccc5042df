"""Why the last roll-up of a cluster was refused stays known until one is taken."""

from bigfleet.model.options import SECOND
from bigfleet.model.rollups import RollupRefusal, RollupRefused
from tests.ingest.rig import START, Rig

HEAVY = RollupRefused("too_heavy", "profiles: 11000 sent, 10000 allowed; see rollup.max_profiles")


def test_it_is_told_until_a_roll_up_is_taken() -> None:
    rig = Rig()
    rig.report(3)
    assert rig.ingest.refusal_of("shop") is None
    rig.give(HEAVY, after=10)
    rig.give(HEAVY, after=20)
    since = START + 10 * SECOND
    assert rig.ingest.refusal_of("shop") == RollupRefusal("too_heavy", HEAVY.text, since, 2)
    assert rig.ingest.refused_clusters() == 1
    rig.report(3, after=30)
    assert rig.ingest.refusal_of("shop") is None


def test_it_outlives_the_session_only_where_demand_is_in_force() -> None:
    rig = Rig()
    rig.report(3)
    for cluster in ("shop", "stranger"):
        rig.give(HEAVY, cluster=cluster)
        rig.ingest.on_session_lost(cluster)
    assert rig.ingest.refusal_of("shop") is not None
    assert rig.ingest.refusal_of("stranger") is None


def test_it_goes_with_its_cluster() -> None:
    rig = Rig()
    rig.report(3)
    rig.give(HEAVY)
    rig.ingest.forget("shop")
    assert rig.ingest.refused_clusters() == 0


def test_one_that_was_judged_after_its_session_is_forgotten_with_the_next_page() -> None:
    rig = Rig()
    rig.give(HEAVY, cluster="stranger")
    rig.clusters.disconnect()
    rig.ingest.measure(rig.effects.counts)
    assert rig.ingest.refused_clusters() == 0
