"""Tens of thousands of requests are held, and few kinds of them."""

import msgspec
import pytest

from bigfleet.kube.objects import CapacityRequest
from bigfleet.model.cluster_reports import DemandSource
from bigfleet.operator.held_requests import HeldRequest, HeldRequests
from tests.cluster_demand.requests import spec


def read(name: str, labels: str = "{}", status: str = "{}") -> CapacityRequest:
    text = b'{"metadata": {"name": "%s", "uid": "u-%s", "labels": %s}, "spec": %s, "status": %s}'
    filled = text % (name.encode(), name.encode(), labels.encode(), spec(), status.encode())
    return msgspec.json.decode(filled, type=CapacityRequest)


def test_a_request_is_held_with_its_pod_and_its_phase() -> None:
    pod = '{"bigfleet.lucy.sh/owned-by-pod": "p-1"}'
    held = HeldRequests().narrow(read("a", pod, '{"phase": "Acknowledged"}'))
    assert held == HeldRequest("u-a", spec(), "Acknowledged", "p-1")


@pytest.mark.parametrize("source", DemandSource)
def test_a_request_is_held_with_what_it_was_made_for(source: DemandSource) -> None:
    labels = f'{{"bigfleet.lucy.sh/owned-by-{source}": "u-1"}}'
    assert HeldRequests().narrow(read("a", labels)).source is source


def test_without_a_status_a_request_is_pending() -> None:
    assert HeldRequests().narrow(read("a")) == HeldRequest("u-a", spec(), "Pending", "")


def test_equal_specs_are_kept_once_and_nothing_of_their_page() -> None:
    requests = HeldRequests()
    one, other = requests.narrow(read("a")), requests.narrow(read("b"))
    assert one.spec is other.spec
    assert type(one.spec) is bytes
