"""The pages that are made from the code: `make reference` writes docs/reference,
docs/troubleshooting.md, and the table of routes in docs/rest.md."""

from collections.abc import Callable

from tests.architecture.tree import ROOT
from tests.site.exit_codes_page import exit_codes_page
from tests.site.flags_page import flags_page
from tests.site.metrics_page import metrics_page
from tests.site.reasons_page import reasons_page
from tests.site.rest_page import PAGE as REST
from tests.site.rest_page import with_table
from tests.site.rpcs_page import rpcs_page
from tests.site.settings_page import settings_page
from tests.site.troubleshooting_page import troubleshooting_page

FOLDER = ROOT / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "flags.md": flags_page,
    "metrics.md": metrics_page,
    "reasons.md": reasons_page,
    "exit-codes.md": exit_codes_page,
    "rpcs.md": rpcs_page,
}
#: Beside the pages that people write.
TROUBLESHOOTING = ROOT / "docs" / "troubleshooting.md"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made())
    TROUBLESHOOTING.write_text(troubleshooting_page())
    REST.write_text(with_table(REST.read_text()))


if __name__ == "__main__":
    main()
