"""Which labels a selector of the API picks."""

from collections.abc import Mapping

from bigfleet.kube.objects import LabelSelector


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """As the server does: an absent selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    for term in selector.match_expressions:
        value = labels.get(term.key)
        match term.operator:
            case "In":
                is_met = value in term.values
            case "NotIn":
                is_met = value not in term.values
            case "Exists":
                is_met = value is not None
            case "DoesNotExist":
                is_met = value is None
            case _:
                is_met = False
        if not is_met:
            return False
    return True
