"""Which metrics there are, and which of them a PromQL expression names."""

import re

from bigfleet.coordinator.metrics import CATALOGUE as COORDINATOR
from bigfleet.edge.exposition import Catalogue
from bigfleet.operator.metrics import CATALOGUE as OPERATOR
from bigfleet.podwatch.metrics import CATALOGUE as PODWATCH
from bigfleet.provider.metrics import CATALOGUE as PROVIDER
from bigfleet.shard.metrics import CATALOGUE as SHARD

#: Of every process.
SHARED = {
    "bigfleet_build_info",
    "bigfleet_tls_certificate_expiry_timestamp_seconds",
    "bigfleet_metrics_series_left_off",
}
PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}
_NAME = re.compile(r"\b(?:bigfleet|process)_[a-z0-9_]+")


def exposed() -> set[str]:
    """Names as a scraper stores them."""
    of_catalogues = {
        name for each in (SHARD, COORDINATOR, OPERATOR, PODWATCH, PROVIDER) for name in _names(each)
    }
    return of_catalogues | SHARED | PROCESS


def named_in(expression: str) -> set[str]:
    return set(_NAME.findall(expression))


def _names(catalogue: Catalogue) -> set[str]:
    plain = {*catalogue.counters, *catalogue.gauges}
    rows = {
        f"{name}_{part}" for name in catalogue.histograms for part in ("bucket", "sum", "count")
    }
    return {catalogue.prefix + name for name in plain | rows}
