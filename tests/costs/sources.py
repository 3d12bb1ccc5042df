"""The Python an inner kernel is made from.

Inner kernels are compiled without a way in from Python; calling one would crash the interpreter.
The cases of whole fleets show that the compiled code says the same.
"""

from collections.abc import Callable
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


def source_of(kernel: F) -> F:
    return cast(F, getattr(kernel, "py_func", kernel))
