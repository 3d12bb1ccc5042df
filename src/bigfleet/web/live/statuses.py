"""What fleet a page shows, as its first event says it: from what the shards told last."""

from typing import Any

from bigfleet.web.fleet import Fleet
from bigfleet.web.live.overview import FleetSeen
from bigfleet.wire import coordination
from bigfleet.wire.shard_views import PAUSE, STATUS

REAL = ("the engine", "the shard", "the coordinator", "the journal", "the protocols")
SIMULATED = ("machines", "prices", "latencies", "pods and their scheduler")


def status_of(fleet: Fleet, seen: FleetSeen) -> dict[str, Any]:
    shards = [{**STATUS.document(each.status)} for each in seen.shards.values()]
    for each in shards:
        if why := seen.down.get(each["shardId"]):
            each["error"] = why
    silent = [
        {"shardId": name, "error": why}
        for name, why in seen.down.items()
        if name not in seen.shards
    ]
    statuses = [each.status for each in seen.shards.values()]
    pauses = {pause.pause_id: PAUSE.document(pause) for s in statuses for pause in s.pauses}
    leader = next((each for each in seen.coordination.statuses if each.is_leader), None)
    return {
        "version": fleet.version,
        "serverTimeUnixNanos": fleet.clock.now(),
        "face": fleet.face,
        "simulated": fleet.simulated,
        "writes": fleet.writes,
        "shards": [*shards, *silent],
        **({"coordinator": coordination.STATUS.document(leader)} if leader else {}),
        "rails": {
            "pauses": list(pauses.values()),
            "dryRun": any(each.dry_run for each in statuses),
        },
        "real": list(REAL),
        "simulatedParts": list(SIMULATED) if fleet.simulated else [],
    }
