"""Ids of machines that are written once for many: `od-{00}` with a count."""

import re

_ZEROS = re.compile(r"\{(0+)\}")


def is_counted(pattern: str) -> bool:
    """Whether it holds zeros in braces."""
    return _ZEROS.search(pattern) is not None


def counted_id(pattern: str, number: int) -> str:
    """`od-{00}` and 7 is `od-07`: as many digits as zeros, or more; the first braces count."""
    return _ZEROS.sub(lambda zeros: f"{number:0{len(zeros[1])}d}", pattern, count=1)
