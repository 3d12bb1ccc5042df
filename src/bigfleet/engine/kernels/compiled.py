"""How a kernel is compiled: once, cached on disk, and without holding the interpreter's lock.

The cache of compiled code is kept per version of this whole folder: a kernel contains the code of
those it calls, while the compiler would look only at the file the kernel itself stands in.
"""

import hashlib
from collections.abc import Callable
from importlib.resources import files
from typing import Protocol, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])

Bools = NDArray[np.bool_]
Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


class _Settings(Protocol):
    CACHE_DIR: str
    DISABLE_JIT: int


def _keep_cache_by_version(config: _Settings) -> None:
    folder = files("bigfleet.engine.kernels")
    sources = sorted(file.name for file in folder.iterdir() if file.name.endswith(".py"))
    digest = hashlib.blake2b(digest_size=8)
    for name in sources:
        digest.update((folder / name).read_bytes())
    base = config.CACHE_DIR or str(folder / "__pycache__")
    config.CACHE_DIR = f"{base}/bigfleet-kernels-{digest.hexdigest()}"


_keep_cache_by_version(cast(_Settings, numba.config))
if cast(_Settings, numba.config).DISABLE_JIT:
    # As compiled: integers wrap around without a word where kernels mix hashes.
    np.seterr(over="ignore")


def kernel(function: F) -> F:
    """A loop that Python calls."""
    return cast(F, numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True)(function))


def inner(function: F) -> F:
    """A part of kernels that Python never calls: compiled without the way in."""
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)
    return cast(F, compiled)


def copied(function: F) -> F:
    """An inner part copied into its callers before compilation: where a loop calls it so often
    that passing the columns would cost more than the work."""
    return cast(F, numba.njit(nogil=True, inline="always")(function))
