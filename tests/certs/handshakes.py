"""A TLS handshake in memory, both sides checking the other."""

import ssl
from contextlib import suppress

from bigfleet.wire.lines import TlsFiles


def shake_hands(server: TlsFiles, client: TlsFiles, host: str) -> tuple[str, str]:
    """What the server calls the client, and the client the server, empty where it has no name.

    Raises ssl.SSLError.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = _context(ssl.PROTOCOL_TLS_SERVER, server)
    serving.verify_mode = ssl.CERT_REQUIRED
    ours = serving.wrap_bio(to_server, to_client, server_side=True)
    dialling = _context(ssl.PROTOCOL_TLS_CLIENT, client)
    theirs = dialling.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for side in (theirs, ours):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return _uri(ours), _uri(theirs)


def _context(protocol: int, files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(files.cert, files.key)
    context.load_verify_locations(files.ca)
    return context


def _uri(side: ssl.SSLObject) -> str:
    names = (side.getpeercert() or {})["subjectAltName"]
    uris = [str(name[1]) for name in names if name[0] == "URI"]
    assert len(uris) <= 1
    return uris[0] if uris else ""
