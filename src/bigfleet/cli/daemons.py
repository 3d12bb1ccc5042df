"""What every long-running verb does around its process: log, certificates, SIGHUP, refusals."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeVar

from bigfleet import __version__
from bigfleet.cli.daemon_page import page_maker
from bigfleet.cli.settings.configuration import Configuration
from bigfleet.cli.settings.sections import LogSettings, TlsSettings
from bigfleet.cli.terminal import refuse
from bigfleet.edge.logs import Log
from bigfleet.model.errors import BadInput, StartRefused

if TYPE_CHECKING:
    from bigfleet.process import Process, ProcessContext

S = TypeVar("S")
_NO_CERTIFICATES = "no certificates: connections are plaintext and no identity is checked"


class SettingsReload:
    """SIGHUP: settings read again, what may change while a process runs applied, the rest told."""

    def __init__(
        self, configuration: Configuration, apply: Callable[[Configuration], None], log: Log
    ) -> None:
        self._configuration = configuration
        self._apply = apply
        self._log = log

    def reload(self) -> None:
        try:
            read = self._configuration.reloaded()
        except BadInput as problem:
            for each in problem.problems:
                self._log.error("config.refused", msg=f"{each}; the old settings stay in force")
            return
        self._configuration = read.configuration
        for change in read.applied:
            self._log.info("config.applied", msg=str(change))
        for change in read.needs_restart:
            self._log.warning("config.restart", msg=f"{change}; restart to apply it")
        if read.applied:
            self._apply(read.configuration)


def run_daemon(
    component: str,
    configuration: Configuration,
    settings: type[S],
    made: "Callable[[S, ProcessContext], Process]",
    *,
    dials: bool = True,
) -> NoReturn:
    """Ends the operating system's process, or exits with a refusal where it must not start.

    `dials`: it has lines of our own services, which are plain without certificates.
    """
    import asyncio

    from bigfleet.edge.driver import RealClock
    from bigfleet.edge.log_lines import open_log
    from bigfleet.process import exit_now, real_context, serve

    lines = configuration.of(LogSettings)
    now = RealClock().now
    log = open_log(sys.stderr, component, now, text=lines.format == "text", level=lines.level)
    tls = None
    if configuration.has(TlsSettings):
        tls = configuration.of(TlsSettings).files()
        if tls is None and dials:
            log.warning("tls.off", msg=_NO_CERTIFICATES)

    async def served() -> NoReturn:
        page = page_maker(configuration, tls, log)
        process = made(configuration.of(settings), real_context(log, tls, __version__, page))

        def apply(read: Configuration) -> None:
            process.apply_settings(read.of(settings))

        exit_now(await serve(process, SettingsReload(configuration, apply, log).reload))

    try:
        asyncio.run(served())
    except (StartRefused, OSError) as problem:
        raise refuse(str(problem).splitlines()) from None
