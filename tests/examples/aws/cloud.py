"""A cloud on the loopback for the tests of the AWS example, and operations to try on it."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from bigfleet.provider import (
    CapacityType,
    Kind,
    MachineRecord,
    MachineState,
    Operation,
)

REGION = "eu-central-1"
#: A slot of the offerings every test has.
SLOT = "m-0000"


class Silent(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Thousands of calls, none of them worth a line."""


def one_at_a_time(app: Callable[..., Iterable[bytes]]) -> Callable[..., list[bytes]]:
    """moto's dictionaries bear no threads."""
    turn = threading.Lock()

    def answered(environ: dict[str, object], start_response: object) -> list[bytes]:
        with turn:
            return list(app(environ, start_response))

    return answered


@contextmanager
def moto_cloud() -> Iterator[str]:
    """The address of a moto server that lives as long as the context, in this process."""
    app = one_at_a_time(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def machine(
    name: str,
    state: MachineState = MachineState.SPECULATIVE,
    capacity: CapacityType = CapacityType.ON_DEMAND,
) -> MachineRecord:
    return MachineRecord(
        name, state, instance_type="m6i.large", zone=f"{REGION}a", capacity_type=capacity
    )


def operation(
    kind: Kind, record: MachineRecord, operation_id: str = "op-1", cluster: str = ""
) -> Operation:
    op = Operation(kind, record, operation_id, attempt=1, deadline=2**62)
    return replace(op, cluster_id=cluster)
