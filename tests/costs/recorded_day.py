"""26 hours of two clusters, recorded: `python -m tests.costs.recorded_day` does it again.

`shop` serves people by day, `batch` computes by night; together they need 5 to 8 machines and own
6. A whole shard in virtual time decides every minute; a cloud has 12 more machines, at $0.40 an
hour. What they ask for changes with the hour, as HOURS says.
"""

from dataclasses import replace
from pathlib import Path

from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.resources import Resources
from tests.questions.recorded_night import RecordedShard, offered, owned

DAY = Path(__file__).parent / "day"
#: 2026-03-14T06:00:00Z.
BEGIN: Instant = 1_773_468_000 * SECOND
FIRST_HOUR, LAST_HOUR = 6, 32
#: By hour of the day: machines that `shop` and `batch` need.
HOURS = (
    *((1, 7), (1, 7), (1, 6), (1, 6), (1, 5), (2, 3)),
    *((3, 2), (4, 1), (6, 1), (7, 1), (7, 1), (7, 1)),
    *((6, 1), (7, 1), (7, 1), (7, 1), (6, 1), (5, 2)),
    *((4, 3), (4, 3), (3, 4), (2, 5), (1, 6), (1, 7)),
)
_POD = Resources.parse({"cpu": "7", "memory": "24Gi"})


def rented(own: tuple[int, ...]) -> int:
    """Machine hours beyond what is owned, hour by hour: by each cluster alone, or by all of it."""
    hours = [HOURS[hour % 24] for hour in range(FIRST_HOUR, LAST_HOUR)]
    if len(own) == 1:
        return sum(max(sum(wanted) - own[0], 0) for wanted in hours)
    return sum(
        max(wanted - has, 0) for hour in hours for wanted, has in zip(hour, own, strict=True)
    )


def fleet() -> list[MachineRecord]:
    own = [owned(f"bm-{n}", "a") for n in range(1, 7)]
    cloud = [offered(f"od-{n:02}", "a", "m5.2xlarge", 0.40, "amd64") for n in range(1, 13)]
    return [*own, *(replace(each, interruption_probability=0.0) for each in cloud)]


def demand(cluster: str, machines: int) -> Need:
    priority, dollars = {"shop": (1000, 4.0), "batch": (100, 0.0)}[cluster]
    profile = Profile.of(
        priority=priority,
        interruption_bucket=bucket_of_dollars(dollars),
        reclamation_bucket=bucket_of_dollars(dollars / 4),
    )
    return Need(cluster, profile, _POD.times(machines), _POD)


class RecordedDay(RecordedShard):
    cycle_seconds = 60

    def __init__(self, file: JournalFile) -> None:
        super().__init__(file, fleet(), BEGIN)

    def live(self, clusters: tuple[str, ...], hours: int) -> None:
        for hour in range(FIRST_HOUR, FIRST_HOUR + hours):
            for cluster, machines in zip(("shop", "batch"), HOURS[hour % 24], strict=True):
                if cluster in clusters:
                    self.report(cluster, demand(cluster, machines))
            self.run_recorded(3600 // self.cycle_seconds)
        # Of the cycle that ends the last hour.
        self.run_recorded(1)


def record_in(
    folder: Path,
    clusters: tuple[str, ...] = ("shop", "batch"),
    hours: int = LAST_HOUR - FIRST_HOUR,
) -> None:
    file = JournalFile(folder, "shard-0", 1, "0.3.0", JournalLimits())
    file.prepare()
    RecordedDay(file).live(clusters, hours)
    file.close()


def record() -> None:
    DAY.mkdir(exist_ok=True)
    for path in DAY.iterdir():
        path.unlink()
    record_in(DAY)


if __name__ == "__main__":
    record()
