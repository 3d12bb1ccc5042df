"""The routes of the scenario: what they answer, what they refuse, and that only `up` has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.web.safety import WebPolicy
from tests.web.pages import no_fleet, served

OWN = {"X-BigFleet": "1"}
SHOP_WEB = {"cluster": "shop", "class": "web"}
WRITES = WebPolicy(writes=True)


@dataclass
class Heard:
    """A scenario that remembers what was wanted."""

    wanted: list[Any] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {"wanted": len(self.wanted)}

    def command(self, name: str, beat: int | None = None) -> None:
        if name == "dance":
            raise Rejected(Code.INVALID_ARGUMENT, "'dance' is not one of next, play")
        self.wanted.append((name, beat))

    async def do(self, given: Mapping[str, object]) -> dict[str, Any]:
        self.wanted.append(dict(given))
        return {"number": 1}

    def set_demand(self, cluster: str, name: str, factor: float) -> dict[str, Any]:
        self.wanted.append((cluster, name, factor))
        return {"factor": factor}


async def posted(path: str, given: Any, heard: Heard | None = None) -> httpx2.Response:
    fleet = replace(no_fleet(), face="up", scenario=heard)
    async with served(fleet, WRITES) as page:
        return await page.client.post(f"/api/v1{path}", json=given, headers=OWN)


async def test_the_whole_state_is_one_object() -> None:
    async with served(replace(no_fleet(), scenario=Heard())) as page:
        answer = await page.client.get("/api/v1/scenario")
    assert (answer.status_code, answer.json()) == (200, {"wanted": 0})


@pytest.mark.parametrize(
    ("path", "given", "wanted"),
    [
        ("/scenario", {"do": "next"}, ("next", None)),
        ("/scenario", {"do": "repeat", "beat": 8}, ("repeat", 8)),
        ("/scenario/do", {"do": "outage", "seconds": 5}, {"do": "outage", "seconds": 5}),
        ("/demand", {"cluster": "shop", "class": "web", "factor": 2}, ("shop", "web", 2.0)),
    ],
    ids=["next", "a beat", "a fault", "demand"],
)
async def test_what_people_want_is_handed_on(path: str, given: Any, wanted: Any) -> None:
    heard = Heard()
    assert (await posted(path, given, heard)).status_code == 200
    assert heard.wanted == [wanted]


@pytest.mark.parametrize(
    ("path", "given", "complaint"),
    [
        ("/scenario", {"do": "dance"}, "'dance' is not one of next, play"),
        ("/scenario", {"do": "next", "beat": "two"}, "beat: Expected `int"),
        ("/scenario", {"do": "next", "beat": 0}, "beat: Expected `int` >= 1"),
        ("/scenario", ["next"], "Expected `object`"),
        ("/scenario/do", ["outage"], "Expected `object`"),
        ("/demand", {**SHOP_WEB, "factor": "much"}, "factor: Expected `float`"),
        ("/demand", {"cluster": "shop", "factor": 1}, "class: class is missing"),
    ],
    ids=["no command", "no number", "too low", "no object", "no fault", "no factor", "no class"],
)
async def test_what_cannot_be_meant_is_refused(path: str, given: Any, complaint: str) -> None:
    heard = Heard()
    answer = await posted(path, given, heard)
    assert answer.status_code == 400
    told = answer.json()
    assert complaint in f"{told.get('field', '')}: {told['error']}"
    assert heard.wanted == []


@pytest.mark.parametrize("path", ["/scenario", "/scenario/do", "/demand"])
async def test_other_processes_have_no_scenario(path: str) -> None:
    answer = await posted(path, {"do": "next"})
    assert answer.status_code == 404
    assert "only the page of `bigfleet up`" in answer.json()["error"]


async def test_a_request_without_our_header_changes_nothing() -> None:
    heard = Heard()
    async with served(replace(no_fleet(), scenario=heard), WRITES) as page:
        answer = await page.client.post("/api/v1/scenario", json={"do": "play"})
    assert answer.status_code == 403
    assert heard.wanted == []
