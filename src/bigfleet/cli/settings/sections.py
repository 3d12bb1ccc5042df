"""The sections of the daemons; TLS is shared with the verbs that ask them."""

from dataclasses import dataclass

from bigfleet.cli.settings.asking_sections import TLS as TLS
from bigfleet.cli.settings.asking_sections import TlsSettings as TlsSettings
from bigfleet.cli.settings.keys import Alias, Section
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.coordinator.settings import (
    contradictions_of as coordinator_contradictions,
)
from bigfleet.edge.logs import LEVELS
from bigfleet.model.settings import setting
from bigfleet.operator.settings import OperatorSettings
from bigfleet.operator.settings import contradictions_of as operator_contradictions
from bigfleet.podwatch.settings import PodwatchSettings
from bigfleet.podwatch.settings import contradictions_of as podwatch_contradictions
from bigfleet.shard.contradictions import contradictions_of
from bigfleet.shard.settings import ShardSettings


@dataclass(frozen=True, slots=True)
class LogSettings:
    format: str = setting("json", "how log lines are written", choices=("json", "text"))
    level: str = setting("info", "lines below this are left out", choices=LEVELS)


LOG = Section("log", LogSettings, section_in_flag=True)
SHARD = Section(
    "shard",
    ShardSettings,
    contradictions_of,
    aliases=(
        Alias("--coordinator-heartbeat-interval", "report.interval"),
        Alias(
            "--incremental-reconcile",
            "reconcile.mode",
            {"true": "incremental", "1": "incremental", "false": "full", "0": "full"},
        ),
        Alias("--phase1-workers", "workers"),
    ),
)
COORDINATOR = Section("coordinator", CoordinatorSettings, coordinator_contradictions)
OPERATOR = Section("operator", OperatorSettings, operator_contradictions)
PODWATCH = Section("podwatch", PodwatchSettings, podwatch_contradictions)
