"""Log lines as JSON events on one stream, or nowhere."""

from typing import Any, Protocol, TextIO

import orjson
import structlog


class Log(Protocol):
    """A reason's code and its facts, one line each."""

    def info(self, event: str, **facts: Any) -> Any: ...
    def warning(self, event: str, **facts: Any) -> Any: ...
    def error(self, event: str, **facts: Any) -> Any: ...


def json_log(stream: TextIO) -> Log:
    logger: Log = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(serializer=_text),
        ],
    )
    return logger


def _text(event: Any, **_: Any) -> str:
    return orjson.dumps(event, default=str).decode()


class Silence:
    def info(self, event: str, **facts: Any) -> None:
        """Says nothing."""

    warning = error = info
