"""Generated requests against the living fleet: every answer is one that the document describes.

The page only reads, so that what is generated changes nothing; bounded and without chance.
"""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bigfleet.web.openapi import all_operations, document_of
from tests.nightly import IS_NIGHTLY
from tests.rest.living_fleet import PATIENCE_SECONDS, LivingFleet
from tests.web.pages import no_fleet

#: Schemathesis draws from the module that Hypothesis seeds for every run.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the .random. module")
CHECKS = [content_type_conformance, response_schema_conformance, status_code_conformance]
OPERATIONS = all_operations(no_fleet())
DOCUMENT = schemathesis.openapi.from_dict(document_of(OPERATIONS, "1.2.3"))
BOUNDED = settings(
    max_examples=200 if IS_NIGHTLY else 8,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", [each.name for each in OPERATIONS])
def test_an_answer_is_one_that_is_described(fleet: LivingFleet, name: str) -> None:
    described = DOCUMENT.find_operation_by_id(name)
    url = f"http://127.0.0.1:{fleet.reading_port}/api/v1"

    @BOUNDED
    @given(case=described.as_strategy())
    def asked(case: Any) -> None:
        answer = case.call(base_url=url, timeout=PATIENCE_SECONDS)
        assert answer.status_code != 500, (answer.text, fleet.log.said[-1:])
        case.validate_response(answer, checks=CHECKS)

    asked()
