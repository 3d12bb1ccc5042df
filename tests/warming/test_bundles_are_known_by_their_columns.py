"""A kernel reads a bundle by the types its annotations name: other columns never reach it."""

import gc
from types import GenericAlias

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from bigfleet import compiling
from bigfleet.compiling import element_of
from bigfleet.engine.kernels.records import KindArrays


def kinds(price: object) -> KindArrays:
    table = np.zeros((1, 1), np.int64)
    return KindArrays(
        price,  # type: ignore[arg-type]
        np.zeros(1),
        np.zeros(1, np.int32),
        table,
        np.zeros((1, 1), np.int32),
        np.zeros((1, 2), np.bool_),
    )


def test_a_bundle_as_annotated_is_handed_on_as_one_address() -> None:
    compiling.all_kernels()
    assert numba.typeof(kinds(np.zeros(1))) == compiling.Bundle(KindArrays)


def test_another_number_type_or_a_stride_is_another_type() -> None:
    compiling.all_kernels()
    for price in (np.zeros(1, np.float32), np.zeros(4)[::2], np.zeros((1, 1))):
        found = numba.typeof(kinds(price))
        assert found != compiling.Bundle(KindArrays)
        assert isinstance(found, numba.types.NamedTuple)


def test_compiling_leaves_the_collector_as_it_was() -> None:
    compiling.compile_kernels()
    assert gc.isenabled()
    gc.disable()
    try:
        compiling.compile_kernels()
        assert not gc.isenabled()
    finally:
        gc.enable()


FORMS = {
    "this Python": NDArray[np.int64],
    "Python 3.11": np.ndarray[tuple[int], np.dtype[np.int64]],
    "Python 3.12 and later": GenericAlias(list, (np.int64,)),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_element_of_an_array_is_found(form: object) -> None:
    assert element_of(form) is np.int64
