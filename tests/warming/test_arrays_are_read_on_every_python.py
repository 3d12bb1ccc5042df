"""numpy writes the type of an array in two ways, by the version of Python."""

from types import GenericAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from bigfleet.compiling import element_of

FORMS = {
    "this Python": NDArray[np.int64],
    "Python 3.11": np.ndarray[tuple[int], np.dtype[np.int64]],
    "Python 3.12 and later": GenericAlias(list, (np.int64,)),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_element_of_an_array_is_found(form: object) -> None:
    assert element_of(form) is np.int64
