"""Alive, ready, counted: what a process in a cluster answers."""

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.http_pages import LONGEST_LAG_SECONDS, pages_of
from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import HttpAnswer


def metrics() -> HttpAnswer:
    return HttpAnswer(b"counted")


def test_a_process_whose_loop_hangs_is_not_alive() -> None:
    passed = [0.0]
    pages = pages_of(LoopLag(ManualClock(), lambda: passed[0]), lambda: "", metrics)
    assert pages["/healthz"]().status == 200
    passed[0] = LONGEST_LAG_SECONDS + 1
    assert pages["/healthz"]().status == 503
    assert b"the event loop is 10.9 s behind" in pages["/healthz"]().body


def test_what_is_missing_is_said_until_it_is_there() -> None:
    missing = ["pods are not read yet"]
    lag = LoopLag(ManualClock(), lambda: 0.0)
    pages = pages_of(lag, lambda: "".join(missing), metrics)
    assert pages["/readyz"]().status == 503
    assert b"pods are not read yet" in pages["/readyz"]().body
    missing.clear()
    assert pages["/readyz"]().status == 200
