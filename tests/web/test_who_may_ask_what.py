"""Host, origin, header, token, size: what is refused before a route is asked."""

import pytest

from bigfleet.web.safety import WebPolicy, host_name
from tests.web.pages import served

PATHS = ["/", "/map", "/api/v1/health", "/api/v1/nothing", "/assets/none.js"]
OWN = {"X-BigFleet": "1"}
WRITES = WebPolicy(writes=True)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "[::2]"])
async def test_a_foreign_host_header_is_refused(path: str, host: str) -> None:
    async with served() as page:
        answer = await page.client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert "not served under" in answer.json()["error"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8080"])
async def test_the_loopback_has_several_names(host: str) -> None:
    async with served() as page:
        answer = await page.client.get("/api/v1/health", headers={"Host": host})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_name_that_was_configured_is_ours() -> None:
    policy = WebPolicy(hosts=frozenset({host_name("Fleet.example:443")}))
    async with served(policy=policy) as page:
        answer = await page.client.get("/api/health", headers={"Host": "fleet.example"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["localhost", "evil.example"])
async def test_every_answer_forbids_foreign_scripts_frames_and_guesses(
    path: str, host: str
) -> None:
    async with served() as page:
        headers = (await page.client.get(path, headers={"Host": host})).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-BigFleet": "0"},
        {**OWN, "Origin": "http://evil.example"},
        {**OWN, "Origin": "null"},
        {**OWN, "Sec-Fetch-Site": "cross-site"},
        {**OWN, "Sec-Fetch-Site": "same-site"},
    ],
    ids=["no header", "another value", "foreign origin", "no origin", "foreign site", "sibling"],
)
async def test_a_write_of_another_page_is_refused(headers: dict[str, str]) -> None:
    async with served(policy=WRITES) as page:
        answer = await page.client.post("/api/v1/nothing", headers=headers)
    assert answer.status_code == 403


async def test_a_write_of_our_own_page_reaches_its_route() -> None:
    async with served(policy=WRITES) as page:
        own = {**OWN, "Origin": f"http://127.0.0.1:{page.port}", "Sec-Fetch-Site": "same-origin"}
        answer = await page.client.post("/api/v1/nothing", headers=own)
    assert answer.status_code == 404


async def test_writes_are_off_by_default_and_the_refusal_names_the_flag() -> None:
    async with served() as page:
        answer = await page.client.post("/api/v1/pause", headers=OWN)
    assert answer.status_code == 403
    assert "--web-writes" in answer.json()["remedy"]


async def test_a_what_if_has_a_body_and_changes_nothing_so_it_may_be_asked() -> None:
    async with served() as page:
        answer = await page.client.post("/api/v1/whatif", headers=OWN)
    assert answer.status_code != 403


@pytest.mark.parametrize("token", ["", "Bearer wrong", "Basic secret", "Bearer", "secret"])
async def test_without_the_token_there_is_no_answer(token: str) -> None:
    async with served(policy=WebPolicy(token="secret")) as page:
        answer = await page.client.get("/api/v1/health", headers={"Authorization": token})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_the_token_opens() -> None:
    async with served(policy=WebPolicy(token="secret")) as page:
        answer = await page.client.get("/api/v1/health", headers={"Authorization": "Bearer secret"})
    assert answer.status_code == 200


async def test_a_body_beyond_the_limit_is_refused_by_its_length() -> None:
    async with served(policy=WRITES) as page:
        answer = await page.client.post("/api/v1/x", headers=OWN, content=b"x" * (1024 * 1024 + 1))
    assert answer.status_code == 413


async def test_an_unknown_method_is_refused() -> None:
    async with served(policy=WRITES) as page:
        answer = await page.client.request("DELETE", "/api/v1/health", headers=OWN)
    assert answer.status_code == 405
    assert answer.json()["error"]
