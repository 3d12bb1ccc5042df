"""What a load test is at, on a terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], None]


@contextmanager
def progress(part: str) -> Iterator[Say]:
    from rich.console import Console

    with Console(stderr=True).status(part) as status:
        yield lambda text: status.update(f"{part}: {text}")
