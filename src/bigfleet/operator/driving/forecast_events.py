"""Writes on CapacityRequests when their Needs are expected to be met, or what these wait for.

At most one Event of a Need in five minutes, on the first of its requests by name. A shard that
does not forecast tells nothing, and so does this.
"""

from bigfleet.kube.events import Events
from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.kube.objects import ObjectKey, Reference
from bigfleet.model.cluster_reports import ClusterReportReply
from bigfleet.model.forecasts import Forecast
from bigfleet.model.machines import Instant
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.operator.driving.cluster_cache import ClusterCache

REASON = "Forecast"
SHORTEST_GAP = 300 * SECOND
#: Needs of one reply that get an Event, the highest priority first; the others follow.
MOST_TOLD = 100


class ForecastEvents:
    def __init__(self, cluster_cache: ClusterCache, events: Events) -> None:
        self._cluster_cache = cluster_cache
        self._events = events
        #: When each Need was told of last; no longer than SHORTEST_GAP ago.
        self._told_at: dict[NeedKey, Instant] = {}

    def on_reply(self, reply: ClusterReportReply, at: Instant) -> None:
        self._told_at = {
            need: told for need, told in self._told_at.items() if 0 <= at - told < SHORTEST_GAP
        }
        cluster = self._cluster_cache.book.cluster
        due: dict[NeedKey, Forecast] = {}
        for standing in reply.standings:
            need, forecast = standing.key(cluster), standing.forecast
            if forecast is not None and need not in self._told_at:
                due[need] = forecast
            if len(due) == MOST_TOLD:
                break
        if not due:
            return
        # Of a Need without a request, such as a margin, nothing is told.
        self._told_at.update(dict.fromkeys(due, at))
        for need, (key, uid) in sorted(self._first_requests(due).items()):
            self._events.tell(_about(key, uid), "Normal", REASON, text_of(due[need]))

    def _first_requests(
        self, needs: dict[NeedKey, Forecast]
    ) -> dict[NeedKey, tuple[ObjectKey, str]]:
        book, found = self._cluster_cache.book, dict[NeedKey, tuple[ObjectKey, str]]()
        for key, request in self._cluster_cache.requests.cache.objects.items():
            need = book.need_of(key)
            if need in needs and (need not in found or key < found[need][0]):
                found[need] = key, request.uid
        return found


def text_of(forecast: Forecast) -> str:
    if forecast.is_timed:
        return f"capacity is expected in {forecast.sentence}"
    return f"when capacity comes cannot be told: {forecast.basis}"


def _about(key: ObjectKey, uid: str) -> Reference:
    return Reference(
        api_version=CAPACITY_REQUESTS.api_version,
        kind=CAPACITY_REQUESTS.kind,
        name=key.name,
        namespace=key.namespace,
        uid=uid,
    )
