"""The page of a shard or a coordinator: who may see it, and whom it asks."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bigfleet import __version__
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.web_section import WebSettings, why_not_served
from bigfleet.edge.logs import Log
from bigfleet.model.errors import StartRefused

if TYPE_CHECKING:
    from bigfleet.process import MakePage, Process, ServedPage
    from bigfleet.web.safety import WebPolicy
    from bigfleet.wire.lines import TlsFiles


def page_maker(configuration: Configuration, tls: "TlsFiles | None", log: Log) -> "MakePage | None":
    """None: no page is wanted. Raises StartRefused."""
    if not configuration.has(WebSettings) or not configuration.of(WebSettings).addr:
        return None
    web = configuration.of(WebSettings)
    if problem := why_not_served(web, tls is not None):
        raise StartRefused(problem)
    policy = _policy(web, tls)

    def make(process: "Process") -> "ServedPage":
        from bigfleet.web.daemon_page import DaemonPage

        asks = tls
        if tls is not None:
            asks = replace(tls, cert=Path(web.client_cert), key=Path(web.client_key))
        return DaemonPage(process, web.addr, policy, tls, asks, log, __version__)

    return make


def _policy(web: WebSettings, tls: "TlsFiles | None") -> "WebPolicy":
    from bigfleet.web.safety import WebPolicy, hosts_of

    token = ""
    if web.token_file:
        try:
            token = Path(web.token_file).read_text().strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise StartRefused(f"--web-token-file {web.token_file}: {problem}") from None
        if len(token) < 16:
            text = "has fewer than 16 characters; `openssl rand -hex 24` makes a good one"
            raise StartRefused(f"--web-token-file {web.token_file} {text}")
    return WebPolicy(web.writes, hosts_of((*web.host, web.addr)), token, identified=tls is not None)
