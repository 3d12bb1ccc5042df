"""badge.json: the verdict in the schema of an endpoint badge."""

from bigfleet.conformance.reports.document import Account
from bigfleet.conformance.verdicts import Word

COLOURS: dict[Word, str] = {"CERTIFIED": "brightgreen", "FAILED": "red", "INCOMPLETE": "yellow"}


def badge_of(account: Account) -> dict[str, object]:
    statuses = [outcome.status for outcome in account.behaviours]
    ran = len(statuses) - statuses.count("not_implemented")
    return {
        "schemaVersion": 1,
        "label": "bigfleet conformance",
        "message": f"{account.verdict.word} ({statuses.count('passed')}/{ran})",
        "color": COLOURS[account.verdict.word],
    }
