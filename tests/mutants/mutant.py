"""A mutant: the engine with one decision flipped, in a copy of the package.

The text to be replaced must occur exactly once, so an entry that no longer fits the source is an
error, not a mutant that quietly tests nothing.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "bigfleet"
ENGINE = Path("engine")

#: Where the flip shows: in one cycle, or only where inventory and needs table live on.
Seen = Literal["cycle", "loop"]


@dataclass(frozen=True, slots=True)
class Mutant:
    #: A sentence that is true of the mutant and false of BigFleet.
    breaks: str
    #: Below `src/bigfleet/engine`.
    file: str
    old: str
    new: str
    seen_in: Seen = "cycle"

    def occurrences(self, package: Path) -> int:
        path = package / ENGINE / self.file
        return path.read_text().count(self.old) if path.exists() else 0

    def write(self, package: Path) -> None:
        """Flip the decision in this package; the compiled form of the file goes too."""
        path = package / ENGINE / self.file
        path.write_text(path.read_text().replace(self.old, self.new))
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            stale.unlink()


def copy_package(source: Path, folder: Path) -> Path:
    """The package as it is now below `folder`, with byte code and without compiled kernels."""
    target = folder / source.name
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("bigfleet-kernels-*", "*.nb[ic]"))
    return target
