"""SIGHUP: settings read again, what may change while a process runs applied, the rest told."""

from collections.abc import Callable

from bigfleet.cli.settings.configuration import Configuration
from bigfleet.edge.logs import Log
from bigfleet.model.errors import BadInput


class SettingsReload:
    def __init__(
        self, configuration: Configuration, apply: Callable[[Configuration], None], log: Log
    ) -> None:
        self._configuration = configuration
        self._apply = apply
        self._log = log

    def reload(self) -> None:
        """Applies what may change while it runs, and says what has to wait."""
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
