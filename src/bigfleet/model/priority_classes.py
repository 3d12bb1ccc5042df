"""Classes of priority: what shortfalls and the regret meter are summed by."""

_CLASSES = (("critical", 1_000_000), ("service", 1_000), ("batch", 100))
_LOWEST_CLASS = "other"
#: The highest first.
PRIORITY_CLASSES = (*(name for name, _ in _CLASSES), _LOWEST_CLASS)
#: The least priority of each class but the last.
LEAST_OF_CLASS = tuple(least for _, least in _CLASSES)


def priority_class(priority: int) -> str:
    return next((name for name, least in _CLASSES if priority >= least), _LOWEST_CLASS)
