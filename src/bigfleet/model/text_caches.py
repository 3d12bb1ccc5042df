"""Caches by texts that clusters and providers chose.

Each is bounded in entries. All are emptied when a process gives memory back: a few thousand texts
of a cluster that has gone lie spread over all the memory it once took, and keep its pages.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")

_caches: "list[_lru_cache_wrapper[Any]]" = []


def cached_by_text(most: int) -> "Callable[[Callable[..., T]], _lru_cache_wrapper[T]]":
    """As `lru_cache`; `forget_texts` empties it."""

    def decorated(function: Callable[..., T]) -> "_lru_cache_wrapper[T]":
        cached = lru_cache(most)(function)
        _caches.append(cached)
        return cached

    return decorated


def forget_texts() -> None:
    for cache in _caches:
        cache.cache_clear()
