"""No route without a description, and none without a test: both fail the build."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
from starlette.routing import Route

from bigfleet.web.app import found_routes
from bigfleet.web.live.live import Live
from bigfleet.web.live.rings import Rings
from bigfleet.web.live.routes import live_routes
from bigfleet.web.openapi import all_operations
from tests.rest.living_fleet import PATIENCE_SECONDS, LivingFleet
from tests.web.pages import LinesKept, no_fleet

TESTS = Path(__file__).parent
#: A stream of events has no end and no shape of its own; tests/web/test_the_stream.py asks for it.
WITHOUT_A_SHAPE = {"/stream"}


def texts_of_tests() -> Iterator[str]:
    """Every text in the tests of this folder."""
    for path in TESTS.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "0" for p in node.values)
                yield "".join(map(str, parts))


def test_every_route_that_is_served_is_described() -> None:
    live = Live(no_fleet(), Rings(), LinesKept())
    routes = [*found_routes(no_fleet()), *live_routes(live)]
    served = {each.path.replace(":path}", "}") for each in routes if isinstance(each, Route)}
    described = {each.path for each in all_operations(no_fleet())}
    assert served - WITHOUT_A_SHAPE == described


def test_every_route_is_asked_for_by_a_test_of_this_folder() -> None:
    texts = list(texts_of_tests())
    for each in all_operations(no_fleet()):
        path = re.compile(re.sub(r"\{\w+\}", "[^/?]+", each.path) + r"(\?.*)?")
        assert any(path.fullmatch(text) for text in texts), f"no test asks for {each.path}"


def test_names_and_paths_are_unique() -> None:
    operations = all_operations(no_fleet())
    assert len({each.name for each in operations}) == len(operations)
    assert len({(each.method, each.path) for each in operations}) == len(operations)
    assert sum(each.compatible for each in operations) == 14


def test_the_document_describes_every_route(fleet: LivingFleet) -> None:
    document = fleet.get("/openapi.json")
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {each.path for each in all_operations(no_fleet())}
    schemas, text = document["components"]["schemas"], str(document)
    named = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert named <= set(schemas)


def test_a_path_that_is_no_route_is_not_found(fleet: LivingFleet) -> None:
    for path in ("/api/v1/absent", "/api/absent", "/api/v1/cycles/1/2"):
        answer = httpx2.get(f"{fleet.url}{path}", timeout=PATIENCE_SECONDS)
        assert answer.status_code == 404
        assert answer.json()["error"] == f"no route {path}"
