"""Where a provider's pages may be served: its metrics port, and which routes lie there."""

import errno
from collections.abc import Mapping

from bigfleet.edge.logs import Log
from bigfleet.edge.pages import Pages, Route
from bigfleet.provider.options import ProviderOptions
from bigfleet.wire.lines import TlsFiles


async def bound_pages(pages: Pages, options: ProviderOptions, log: Log) -> int:
    """The port; one that was only a default and is taken is left for any free one."""
    wanted = options.metrics_address
    try:
        return await pages.start(wanted)
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE or not options.metrics_may_move:
            raise
    host = wanted.rpartition(":")[0]
    port = await pages.start(f"{host}:0")
    text = f"{wanted} is in use; give --metrics-addr to choose one, or leave it empty for none"
    log.warning("metrics.moved", wanted=wanted, port=port, text=text)
    return port


def routes_behind(
    tls: TlsFiles | None, routes: Mapping[str, Route], log: Log
) -> Mapping[str, Route]:
    """With mTLS every caller has a name, and these pages ask for none: they stay closed."""
    if tls is None or not routes:
        return routes
    text = "HTTP checks no names; with TLS use the same verbs over gRPC on the provider's port"
    log.warning("routes.closed", routes=sorted(routes), text=text)
    return {}
