"""The page's built files are committed; these tests notice drift without Node."""

import gzip
import re
from hashlib import sha256
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "web"
STATIC = ROOT / "src/bigfleet/web/static"
#: Of all files together, compressed, which is more than any visit (product.md 5.6).
LARGEST_SCRIPTS = 200 * 1024
LARGEST_TOTAL = 300 * 1024
_NOT_BUILT_FROM = ("node_modules", "README.md")
_STRANGER = re.compile(rb"(?:src|href)=[\"'](?:https?:)?//|@import|url\((?:https?:)?//")


def _source_digests() -> dict[str, str]:
    return {
        path.relative_to(SOURCES).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in SOURCES.rglob("*")
        if path.is_file() and not set(path.relative_to(SOURCES).parts) & set(_NOT_BUILT_FROM)
    }


def _built_from() -> dict[str, str]:
    lines = (STATIC / "sources.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def _served() -> list[Path]:
    """Files a browser may ask for."""
    files = (path for path in STATIC.rglob("*") if path.is_file())
    return [path for path in files if path.suffix not in (".gz", ".sha256")]


def _transferred(path: Path) -> int:
    packed = path.with_name(f"{path.name}.gz")
    return (packed if packed.exists() else path).stat().st_size


def test_the_built_files_are_made_from_these_sources() -> None:
    now, then = _source_digests(), _built_from()
    changed = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
    assert not changed, f"run make web: the page was built from other sources: {changed}"


def test_a_cold_visit_fits_its_budget() -> None:
    scripts = sum(_transferred(path) for path in _served() if path.suffix == ".js")
    total = sum(map(_transferred, _served()))
    assert 0 < scripts <= LARGEST_SCRIPTS, f"scripts take {scripts} bytes compressed"
    assert total <= LARGEST_TOTAL, f"all files take {total} bytes compressed"


def test_compressed_copies_hold_what_they_are_copies_of() -> None:
    packed = list(STATIC.rglob("*.gz"))
    assert packed, "run make web"
    for path in packed:
        assert gzip.decompress(path.read_bytes()) == path.with_suffix("").read_bytes(), path.name


def test_everything_the_page_names_is_there_and_is_its_own() -> None:
    index = (STATIC / "index.html").read_bytes()
    named = re.findall(rb"(?:src|href)=\"/([^\"]+)\"", index)
    assert any(name.endswith(b".js") for name in named)
    for name in named:
        assert (STATIC / name.decode()).is_file(), f"run make web: {name.decode()} is missing"
    for path in _served():
        assert not _STRANGER.search(path.read_bytes()), f"{path.name} asks another host"


def test_the_page_runs_under_its_content_security_policy() -> None:
    index = (STATIC / "index.html").read_text()
    assert "<style" not in index
    assert " style=" not in index
    assert not re.search(r"<script[^>]*>[^<]", index), "a script within the page would be refused"


def test_no_lock_file_names_a_registry() -> None:
    lock = (SOURCES / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert '"integrity"' in lock


def test_the_wheel_contains_the_page() -> None:
    shipped = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    missing = [
        path.name
        for path in STATIC.rglob("*")
        if path.is_file() and f"bigfleet/web/static/{path.relative_to(STATIC)}" not in shipped
    ]
    assert not missing, missing
