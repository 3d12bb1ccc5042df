"""Findings as people read them: a sentence each, and below it what to do next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bigfleet.cli.request_options import named_text

if TYPE_CHECKING:
    from bigfleet.cli.tables import Page
    from bigfleet.model.findings import Finding

#: -o json has all of them.
MOST_TOLD = 20


def tell_findings(page: "Page", found: "Sequence[Finding]", shards: int = 1) -> None:
    """`shards`: of the fleet; where there is one it need not be named."""
    from bigfleet.cli.tables import counted

    page.say("")
    page.say(f"{counted(len(found), 'finding')}:", "bold red")
    for each in found[:MOST_TOLD]:
        page.say(f"- {_where(each, shards)}{each.reason.text}")
        page.say(f"  next: {each.remedy}")
    if len(found) > MOST_TOLD:
        page.say(f"{len(found) - MOST_TOLD} more findings; -o json has all of them")


def _where(finding: "Finding", shards: int) -> str:
    if shards == 1 or not finding.shards:
        return ""
    named = f"all {shards} shards" if len(finding.shards) == shards else named_text(finding.shards)
    return f"{named}: "
