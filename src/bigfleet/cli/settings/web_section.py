"""The section of the page that a shard or a coordinator serves."""

from dataclasses import dataclass

from bigfleet.cli.settings.keys import Section
from bigfleet.model.settings import setting
from bigfleet.model.syntax import is_address

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class WebSettings:
    addr: str = setting("", "where the page is served; empty: no page")
    writes: bool = setting(False, "take requests that change the fleet, not only questions")
    token_file: str = setting("", "file of the token that callers of the page must bring")
    host: tuple[str, ...] = setting(
        (), "name under which browsers reach the page, beside its address; may be repeated"
    )
    client_cert: str = setting(
        "", "certificate with which the page asks, of a reader or an administrator; with TLS only"
    )
    client_key: str = setting("", "its private key")

    @property
    def is_local(self) -> bool:
        """Only this machine reaches it."""
        return self.addr.rpartition(":")[0] in LOOPBACK


def why_not_served(web: WebSettings, secured: bool) -> str:
    """What stands against it, with the flag that helps; empty: nothing. `secured`: there is TLS."""
    if not web.is_local and not secured and not web.token_file:
        return (
            f"--web-addr {web.addr} lets others reach the page, and nothing would tell who they "
            "are: name certificates (--tls-cert, --tls-key, --tls-ca), or a token with "
            "--web-token-file, or serve it to this machine only: --web-addr 127.0.0.1:8080"
        )
    if secured and not web.client_cert:
        return (
            "with certificates the page asks by one of its own: name it with --web-client-cert and "
            "--web-client-key; `bigfleet certs issue --role readonly` makes one that only reads"
        )
    return ""


def _contradictions(web: WebSettings) -> list[tuple[str, str]]:
    if not web.addr:
        return []
    found = []
    if not is_address(web.addr):
        found.append(("addr", f"{web.addr!r} is not host:port"))
    if bool(web.client_cert) != bool(web.client_key):
        given = "client_cert" if web.client_cert else "client_key"
        found.append((given, "client_cert and client_key go together"))
    return found


WEB = Section("web", WebSettings, _contradictions, section_in_flag=True)
