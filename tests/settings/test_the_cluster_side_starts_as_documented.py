"""What an operator and a pod controller do unless told otherwise, and what SIGHUP may change."""

from dataclasses import fields
from typing import Any

import pytest

from bigfleet.model.settings import Seconds
from bigfleet.operator.settings import LeaseSettings, OperatorSettings, ReconnectSettings
from bigfleet.podwatch.settings import PodwatchSettings

OPERATOR = {
    "cluster_id": "",
    "shard_addr": "",
    "kubeconfig": "",
    "metrics_addr": "127.0.0.1:8770",
    "rollup_interval": 10,
    "rollup_debounce": 1,
    "qps": 50,
    "burst": 100,
    "ack_concurrency": 16,
    "dispatch": 32,
    "outbox": 256,
    "evict_retry": 2,
    "default_grace": 30,
    "admission_delay": 15,
    "successor_wait": 30,
    "delete_nodes": True,
    "node_delete_after": 2 * 60,
    "bootstrap_template_file": "",
    "mint_token": False,
    "token_prefix": "bf",
    "token_ttl": 15 * 60,
    "lease": LeaseSettings(Seconds(15), Seconds(10), Seconds(2)),
    "reconnect": ReconnectSettings(Seconds(0.5), Seconds(30)),
    "watch_stale": 60,
    "join_timeout": 15 * 60,
    "startup_taints": (),
    "node_gone": 2 * 60,
    "repair": True,
    "repair_conditions": (),
}
PODWATCH = {
    "kubeconfig": "",
    "cluster_id": "",
    "shard_addr": "",
    "metrics_addr": "127.0.0.1:8080",
    "buffers": "auto",
    "provisioning_requests": "auto",
    "buffer_priority": -10,
    "priority_class_defaults": "",
    "exclude_namespaces": (),
    "include_daemonsets": False,
    "unjudged_grace": 3,
    "taints": (),
    "qps": 50,
    "burst": 100,
    "sync_timeout": 10 * 60,
}
DEFAULTS: list[tuple[object, str, object]] = [
    (OperatorSettings(), *row) for row in OPERATOR.items()
]
DEFAULTS += [(PodwatchSettings(), *row) for row in PODWATCH.items()]


@pytest.mark.parametrize(
    ("settings", "key", "value"), [pytest.param(*row, id=f"{row[1]}") for row in DEFAULTS]
)
def test_every_default_is_the_documented_one(settings: object, key: str, value: Any) -> None:
    assert getattr(settings, key) == value


def test_only_the_pace_of_roll_ups_and_repair_change_while_an_operator_runs() -> None:
    found = {each.name for each in fields(OperatorSettings) if each.metadata.get("reloadable")}
    assert found == {"rollup_interval", "rollup_debounce", "repair"}
