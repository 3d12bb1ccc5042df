"""docs/rest.md: its table is that of the routes, and its examples answer."""

import json
import re
import shlex

import httpx2
import pytest

from tests.rest.living_fleet import PATIENCE_SECONDS, LivingFleet
from tests.site.rest_page import PAGE, with_table

EXAMPLES = re.findall(r"^curl .*$", PAGE.read_text(), re.MULTILINE)


def test_the_table_of_routes_is_that_of_the_code() -> None:
    page = PAGE.read_text()
    assert page == with_table(page), "run `make reference`"


@pytest.mark.parametrize("command", EXAMPLES)
def test_an_example_answers(fleet: LivingFleet, command: str) -> None:
    words = shlex.split(command)
    path = words[-1].partition("/")[2]
    body = words[words.index("-d") + 1] if "-d" in words else None
    answer = httpx2.request(
        "GET" if body is None else "POST",
        f"{fleet.url}/{path}",
        json=None if body is None else json.loads(body),
        headers={"X-BigFleet": "1"},
        timeout=PATIENCE_SECONDS,
    )
    assert answer.status_code == 200, answer.text
