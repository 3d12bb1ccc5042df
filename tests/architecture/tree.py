"""Where the code and the documentation lie, for tests that read them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "bigfleet"
TESTS = ROOT / "tests"


def python_files(*folders: Path) -> list[Path]:
    """What people wrote: generated code has no style of its own to keep."""
    found = (path for folder in folders for path in folder.rglob("*.py"))
    return sorted(path for path in found if not path.stem.endswith(("_pb2", "_pb2_grpc")))


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
