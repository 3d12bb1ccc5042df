"""Findings are told once each, and returns and re-buys hold Reclaims and Deletes for a while."""

import pytest

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.thrash import ThrashKind
from bigfleet.thrash.findings import MOST_FINDINGS, Findings
from tests.thrash.traces import OFFERING, Told, need

SHOP, ML = need("shop"), need("ml", "train")


def returned(told: Told, machine: str = "m-1") -> None:
    told.reclaim(machine, SHOP)
    told.wait(90)
    told.bind(machine, SHOP)


def noted(told: Told, findings: Findings | None = None) -> Findings:
    findings = Findings() if findings is None else findings
    for seen in told.found:
        findings.add(seen)
    told.found.clear()
    return findings


def is_held(findings: Findings, at: Instant, cluster: str = "shop", profile: str = "web") -> bool:
    return findings.why_held(cluster, profile, "", at) is not None


def test_a_return_holds_its_cluster_and_profile_for_ten_minutes() -> None:
    told = Told()
    returned(told)
    findings = noted(told)
    assert is_held(findings, told.now)
    assert is_held(findings, told.now + 600 * SECOND - 1)
    assert not is_held(findings, told.now + 600 * SECOND)


def test_other_profiles_and_clusters_are_not_held() -> None:
    told = Told()
    returned(told)
    findings = noted(told)
    assert not is_held(findings, told.now, profile="other")
    assert not is_held(findings, told.now, cluster="ml")


def test_a_rebuy_also_holds_idle_machines_of_its_offering() -> None:
    told = Told()
    told.release("od-1")
    told.buy("od-2", SHOP)
    findings = noted(told)
    assert is_held(findings, told.now)
    assert findings.why_held("", "", OFFERING, told.now) is not None
    assert findings.why_held("", "", "cloud/other/a/Spot", told.now) is None


def test_the_reason_says_for_how_long_and_why() -> None:
    told = Told()
    returned(told)
    reason = noted(told).why_held("shop", "web", "", told.now + 30 * SECOND)
    assert reason is not None
    assert reason.code == "rail.thrash-hold"
    assert "m-1 left shop and came back 1m30s later" in reason.text
    assert "--witness 1" in reason.text


def test_ping_pong_chains_and_repeats_hold_nothing() -> None:
    told = Told()
    told.reclaim("m-1", SHOP)
    told.bind("m-1", ML)
    told.wait(700)
    told.reclaim("m-1", ML)
    told.bind("m-1", SHOP)
    told.preempt("v-1", SHOP, ML)
    told.preempt("v-2", SHOP, ML)
    findings = noted(told)
    assert {each.kind for each in findings.all()} == {ThrashKind.PING_PONG, ThrashKind.REPEATED}
    assert not findings.holds_anything


def test_the_same_thrash_again_is_the_same_finding_and_holds_longer() -> None:
    told = Told()
    returned(told)
    findings = noted(told)
    told.wait(300)
    returned(told, "m-2")
    noted(told, findings)
    (finding,) = findings.all()
    assert (finding.number, finding.times, finding.subject) == (1, 2, "machine/m-1")
    assert is_held(findings, told.now + 599 * SECOND)


def test_a_finding_is_forgotten_when_it_was_not_seen_for_the_window() -> None:
    told = Told()
    returned(told)
    findings = noted(told)
    findings.expire(told.now + 1800 * SECOND)
    assert len(findings) == 1
    findings.expire(told.now + 1801 * SECOND)
    assert len(findings) == 0
    assert not findings.holds_anything


def test_a_hold_of_zero_holds_nothing() -> None:
    told = Told()
    returned(told)
    findings = noted(told, Findings(hold_seconds=0))
    assert len(findings) == 1
    assert not is_held(findings, told.now)


def test_findings_are_bounded() -> None:
    told = Told()
    findings = Findings()
    for number in range(MOST_FINDINGS + 20):
        told.reclaim(f"m-{number}", need(f"c{number}"))
        told.bind(f"m-{number}", need(f"c{number}"))
    noted(told, findings)
    assert len(findings) == MOST_FINDINGS
    assert findings.all()[-1].number == MOST_FINDINGS + 20


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ThrashKind.RETURN, "m-1 left shop and came back 1m30s later"),
        (ThrashKind.PING_PONG, "p-1 went shop -> ml -> shop within 11m40s"),
        (ThrashKind.REBUY, f"{OFFERING} was released and bought again 0s later"),
        (ThrashKind.CHAIN, "5 preemptions caused each other: c0 -> c1 -> c2 -> c3 -> c4 -> c5"),
        (ThrashKind.REPEATED, "although the 1 machine it preempted before cover what it lacks"),
    ],
    ids=lambda value: value.label if isinstance(value, ThrashKind) else "",
)
def test_each_kind_has_its_sentence(kind: ThrashKind, words: str) -> None:
    told = Told()
    returned(told)
    told.reclaim("p-1", SHOP)
    told.bind("p-1", ML)
    told.wait(700)
    told.reclaim("p-1", ML)
    told.bind("p-1", SHOP)
    told.release("od-1")
    told.buy("od-2", SHOP)
    for rung in range(5):
        told.preempt(f"x-{rung}", need(f"c{rung + 1}"), need(f"c{rung}"))
    told.preempt("y-1", SHOP, ML)
    told.preempt("y-2", SHOP, ML)
    texts = [each.text for each in noted(told).all() if each.kind is kind]
    assert [words in text for text in texts] == [True]
