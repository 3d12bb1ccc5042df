"""Every row of the suite, in the order of the specification."""

from bigfleet.conformance.behaviours.baseline import BASELINE
from bigfleet.conformance.behaviours.concurrency import CONCURRENCY
from bigfleet.conformance.behaviours.durability import DURABILITY
from bigfleet.conformance.behaviours.errors import ERRORS
from bigfleet.conformance.behaviours.failure import FAILURE
from bigfleet.conformance.behaviours.fencing import FENCING
from bigfleet.conformance.behaviours.fields import FIELDS
from bigfleet.conformance.behaviours.lifecycle import LIFECYCLE
from bigfleet.conformance.behaviours.listing import LISTING
from bigfleet.conformance.behaviours.metadata import METADATA
from bigfleet.conformance.behaviours.properties import PROPERTIES
from bigfleet.conformance.behaviours.scale import SCALE
from bigfleet.conformance.behaviours.strict import STRICT
from bigfleet.conformance.behaviours.strict_restarts import RESTARTS
from bigfleet.conformance.rows import Area, Row

AREAS: tuple[Area, ...] = (
    BASELINE,
    LIFECYCLE,
    ERRORS,
    FENCING,
    CONCURRENCY,
    METADATA,
    FAILURE,
    FIELDS,
    LISTING,
    DURABILITY,
    SCALE,
    PROPERTIES,
    STRICT,
    RESTARTS,
)
ROWS: tuple[Row, ...] = tuple(row for area in AREAS for row in area)
BY_ID: dict[str, Row] = {row.id: row for row in ROWS}
