"""Bootstrap requests answered, one after the other's token, none of them waiting for the line.

The template file is looked at with every request and read again when it changed; a bad new one is
said once and the last good one goes on. Nothing rendered is ever logged.
"""

from pathlib import Path

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem
from bigfleet.model.errors import StartRefused
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse
from bigfleet.operator.bootstrap.renderer import (
    NO_TEMPLATE,
    ClusterFacts,
    response_of,
    why_not_answered,
)
from bigfleet.operator.bootstrap.templates import BadTemplate, Template
from bigfleet.operator.driving.tokens import BootstrapTokens

#: Size, change and identity: a mounted ConfigMap is swapped, not written.
_Stamp = tuple[int, int, int]


class TemplateFile:
    """Raises BadTemplateFile at once where there is no template to begin with."""

    def __init__(self, path: str, log: Log) -> None:
        self._path = Path(path) if path else None
        self._log = log
        #: Of what was read last, good or bad: either is said once.
        self._stamp: _Stamp | None = None
        self._template = NO_TEMPLATE
        if self._path is not None:
            self._stamp = _stamp_of(self._path)
            self._template = _read(self._path)

    def template(self) -> Template:
        path = self._path
        if path is None or (stamp := _stamp_of(path)) == self._stamp:
            return self._template
        self._stamp = stamp
        try:
            self._template = _read(path)
        except BadTemplateFile as problem:
            text = f"{problem}; machines get the last good one until that is mended"
            self._log.error("bootstrap.bad_template", msg=text)
        else:
            self._log.info("bootstrap.template_read", msg=f"read {path} again")
        return self._template


class BadTemplateFile(StartRefused):
    """The file cannot be read or is not a template; the text names it and the fix."""


class BootstrapRequests:
    def __init__(
        self,
        templates: TemplateFile,
        facts: ClusterFacts,
        clock: Clock,
        log: Log,
        counts: Counts,
        *,
        tokens: BootstrapTokens | None = None,
    ) -> None:
        self._templates = templates
        self._facts = facts
        self._clock = clock
        self._log = log
        self._counts = counts
        self._tokens = tokens
        if tokens is None and "Token" in templates.template().uses:
            log.warning(
                "bootstrap.no_token",
                msg="the bootstrap template uses {{ .Token }}, which stays empty: set mint_token",
            )

    async def answer(self, request: BootstrapRequest) -> BootstrapResponse:
        """Never raises for what a cluster or a template may do; the shard is told in `error`."""
        template = self._templates.template()
        error = why_not_answered(request, self._facts.cluster_id)
        token = None
        if not error and self._tokens is not None and "Token" in template.uses:
            try:
                token = await self._tokens.token()
            except ApiProblem as problem:
                error = f"no bootstrap token could be made: {problem.text}"
        outcome = "error" if error else "success"
        self._counts.add("bootstrap_renders_total", outcome=outcome)
        if error:
            self._log.warning("bootstrap.refused", msg=error, request=request.request_id)
            return BootstrapResponse(request.request_id, error=error)
        return response_of(request, template, self._facts, token, self._clock.now())


def _stamp_of(path: Path) -> _Stamp | None:
    """None where the file cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _read(path: Path) -> Template:
    try:
        return Template.parse(path.read_text(encoding="utf-8"))
    except OSError as problem:
        text = f"the bootstrap template {path} cannot be read: {problem.strerror}"
        raise BadTemplateFile(f"{text}; check bootstrap_template_file") from problem
    except UnicodeDecodeError as problem:
        raise BadTemplateFile(f"the bootstrap template {path} is not UTF-8") from problem
    except BadTemplate as problem:
        raise BadTemplateFile(f"{path} is not a bootstrap template: {problem}") from problem
