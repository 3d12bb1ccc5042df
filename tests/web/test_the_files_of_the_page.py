"""Built files: kept for ever where their name says what is in them, the page for every address."""

import gzip
from pathlib import Path

import httpx2
import pytest

from bigfleet.web.assets import Assets
from tests.web.pages import served

SCRIPT = b"console.log('a fleet');" * 40


@pytest.fixture
def static(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>BigFleet</title>")
    (tmp_path / "assets" / "main-0a1b2c3d.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "main-0a1b2c3d.js.gz").write_bytes(gzip.compress(SCRIPT))
    return tmp_path


async def asked(static: Path, path: str, **headers: str) -> httpx2.Response:
    async with served(static=static) as page:
        return await page.client.get(path, headers=headers)


@pytest.mark.parametrize("path", ["/", "/map", "/machines/od-0117", "/needs?state=short"])
async def test_every_address_of_the_page_is_the_page(static: Path, path: str) -> None:
    answer = await asked(static, path)
    assert answer.text.startswith("<!doctype html>")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


async def test_a_file_with_its_hash_in_its_name_is_kept_for_ever(static: Path) -> None:
    answer = await asked(static, "/assets/main-0a1b2c3d.js")
    assert answer.content == SCRIPT
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


async def test_a_compressed_file_is_sent_as_it_is(static: Path) -> None:
    answer = await asked(static, "/assets/main-0a1b2c3d.js", **{"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(SCRIPT)
    assert answer.content == SCRIPT


def test_sizes_are_those_of_what_is_sent(static: Path) -> None:
    sizes = Assets(static).sizes()
    assert sizes
    assert all(0 < size <= len((static / name).read_bytes()) for name, size in sizes.items())


async def test_a_browser_that_cannot_unpack_gets_it_plain(static: Path) -> None:
    answer = await asked(static, "/assets/main-0a1b2c3d.js", **{"Accept-Encoding": "identity"})
    assert "content-encoding" not in answer.headers
    assert answer.content == SCRIPT


async def test_what_is_the_same_is_not_sent_again(static: Path) -> None:
    first = await asked(static, "/")
    again = await asked(static, "/", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/assets/gone-1234.js", "/favicon.ico", "/%2e%2e/app.py.js"])
async def test_a_missing_file_is_not_the_page(static: Path, path: str) -> None:
    answer = await asked(static, path)
    assert answer.status_code == 404
