"""How every gRPC line of ours is set up: sizes, keepalive, back-off, certificates.

Certificates: all three files (mTLS in both directions) or none (plaintext, no identity checked).
A server re-reads them when a modification time changes and keeps the old ones when the new do not
fit together; a client is told by `fingerprint` and makes a new channel.
"""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import grpc

from bigfleet.model.provider_calls import Peer

Options = Sequence[tuple[str, int]]
#: What is said beside a request: ASCII texts by key.
Metadata = tuple[tuple[str, str], ...]
#: The three modification times; None: a file is missing.
Fingerprint = tuple[int, int, int] | None

_LAST_PORT = 65_535
#: Of one message, in bytes, on every line.
MESSAGE_CEILING = 256 * 1024 * 1024
_SHARED: Options = (
    ("grpc.max_receive_message_length", MESSAGE_CEILING),
    ("grpc.max_send_message_length", MESSAGE_CEILING),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
SERVER_OPTIONS: Options = (
    *_SHARED,
    # Otherwise a second server silently shares the port.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    # The default of 1000 turns a storm of reconnects into failures.
    ("grpc.server.max_pending_requests", 20_000),
    ("grpc.server.max_pending_requests_hard_limit", 40_000),
)
CLIENT_OPTIONS: Options = (
    *_SHARED,
    # Each client has its own connection: two clients must not share a fate or a window.
    ("grpc.use_local_subchannel_pool", 1),
    # A restarted server is found again within a second, not within two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    # Despite its name: how long one attempt may take. A handshake with a busy server or across an
    # ocean takes longer than any back-off.
    ("grpc.min_reconnect_backoff_ms", 10_000),
)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    cert: Path
    key: Path
    ca: Path

    def fingerprint(self) -> Fingerprint:
        try:
            cert, key, ca = (f.stat().st_mtime_ns for f in (self.cert, self.key, self.ca))
        except OSError:
            return None
        return cert, key, ca

    def why_unusable(self) -> str | None:
        """What is wrong with the files as they lie there, or None."""
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, self.key)
            context.load_verify_locations(self.ca)
        except OSError as problem:  # includes ssl.SSLError: not a pair, or not a certificate
            return f"{self.cert}, {self.key}, {self.ca}: {problem}"
        return None


def client_channel(
    address: str, tls: TlsFiles | None, options: Options = CLIENT_OPTIONS
) -> grpc.aio.Channel:
    if tls is None:
        return grpc.aio.insecure_channel(address, options=options)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=tls.ca.read_bytes(),
        private_key=tls.key.read_bytes(),
        certificate_chain=tls.cert.read_bytes(),
    )
    return grpc.aio.secure_channel(address, credentials, options=options)


def bind(server: grpc.aio.Server, address: str, tls: TlsFiles | None) -> int:
    """The port the server will listen on; OSError where it cannot."""
    port = address.rpartition(":")[2]
    if port.isdecimal() and int(port) > _LAST_PORT:
        # gRPC would take another one instead, and say nothing.
        raise OSError(f"cannot listen on {address}: ports end at {_LAST_PORT}; name another")
    try:
        if tls is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, server_credentials(tls))
    except RuntimeError as problem:
        # gRPC does not say which of the two it is, and names a variable of its own to find out.
        why = "the port is taken, or this machine does not have the address"
        what = "free that address, or choose another"
        raise OSError(f"cannot listen on {address}: {why}; {what}") from problem


def server_credentials(tls: TlsFiles) -> grpc.ServerCredentials:
    if why := tls.why_unusable():
        raise OSError(why)
    # gRPC takes None for "no change"; its types do not say so.
    reread = cast(Callable[[], grpc.ServerCertificateConfiguration], _reread_when_changed(tls))
    first = _configuration(tls)
    return grpc.dynamic_ssl_server_credentials(first, reread, require_client_authentication=True)


def _configuration(tls: TlsFiles) -> grpc.ServerCertificateConfiguration:
    pair = (tls.key.read_bytes(), tls.cert.read_bytes())
    return grpc.ssl_server_certificate_configuration([pair], tls.ca.read_bytes())


def _reread_when_changed(
    tls: TlsFiles,
) -> Callable[[], grpc.ServerCertificateConfiguration | None]:
    seen = tls.fingerprint()

    def reread() -> grpc.ServerCertificateConfiguration | None:
        """Called by gRPC at each handshake; None keeps what it has."""
        nonlocal seen
        now = tls.fingerprint()
        if now == seen or now is None or tls.why_unusable():
            return None
        seen = now
        return _configuration(tls)

    return reread


def peer_of(context: "grpc.aio.ServicerContext[bytes, bytes]", *, secured: bool) -> Peer:
    """The caller; several `bigfleet:` names are as good as none."""
    if not secured:
        return Peer(address=context.peer())
    names = [uri.decode(errors="replace") for uri in context.auth_context().get("peer_uri", ())]
    ours = [name for name in names if name.startswith("bigfleet:")]
    identity = ours[0] if len(ours) == 1 else None
    return Peer(identity, authenticated=True, address=context.peer())
