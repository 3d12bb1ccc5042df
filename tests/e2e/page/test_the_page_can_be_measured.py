"""`make web-bench` measures every budget of a browser; the times themselves are never asserted."""

import pytest

from tests.e2e.assets import require_browser
from tests.e2e.page import measuring
from tests.e2e.page.live_page import LivePage

MACHINES = 20_000


async def test_every_budget_of_a_browser_is_measured(
    live: LivePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_browser()
    for name, fewer in (("LOADS", 1), ("REPAINTS", 4), ("NEEDS", 3_000), ("SCROLL_MS", 500)):
        monkeypatch.setattr(measuring, name, fewer)
    parts = measuring.measured(live.address, MACHINES, minutes=0)
    rows = {row.name: row async for part in parts for row in part}
    assert {name: row.budget for name, row in rows.items() if row.budget} == {
        "first content of the Overview, cold, median": "<= 800",
        "usable Overview, cold, median": "<= 1,500",
        "files of the page on their way": "<= 300",
        "scripts on their way": "<= 200",
        "route change, page shown, median": "<= 150",
        "table of 3,000 Needs, answer to first paint, median": "<= 300",
        "table of 3,000 Needs, scrolled by the wheel, longest frame": "<= 50",
        "table of 3,000 Needs, scrolled by its bar, longest frame": "<= 50",
        "map of 20,000, load": "<= 1,500",
        "map of 20,000, full repaint, median": "<= 33",
        "map of 20,000, 5,000 changed, median": "<= 8",
    }
    assert all(row.value > 0 for row in rows.values() if row.budget)
