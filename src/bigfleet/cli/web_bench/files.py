"""What a browser loads of the page's files, all pages opened once, compressed."""

from bigfleet.bench.measures import Measure
from bigfleet.web.app import STATIC
from bigfleet.web.assets import Assets

#: As the budget counts them.
_KB = 1000


def file_rows() -> list[Measure]:
    sizes = Assets(STATIC).sizes()
    scripts = sum(size for name, size in sizes.items() if name.endswith(".js"))
    return [
        Measure("scripts of all pages, compressed", scripts / _KB, "KB", at_most=200),
        Measure("all files of the page, compressed", sum(sizes.values()) / _KB, "KB", at_most=300),
    ]
