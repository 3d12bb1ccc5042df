"""What an API server says when it does not do something: a Status object and its HTTP status."""

import json
from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float | None = None,
        causes: tuple[Mapping[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes

    @property
    def body(self) -> dict[str, Any]:
        details: dict[str, Any] = {}
        if self.causes:
            details["causes"] = [dict(cause) for cause in self.causes]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = int(self.retry_after)
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.status,
        }

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}

    def encoded(self) -> bytes:
        return json.dumps(self.body).encode()


def not_found(plural: str, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{plural} "{name}" not found')


def unknown_path() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource")


def already_exists(plural: str, name: str) -> Refusal:
    return Refusal(409, "AlreadyExists", f'{plural} "{name}" already exists')


def conflict(plural: str, name: str, why: str) -> Refusal:
    text = f'Operation cannot be fulfilled on {plural} "{name}": {why}'
    return Refusal(409, "Conflict", text)


def invalid(kind: str, name: str, why: str) -> Refusal:
    return Refusal(422, "Invalid", f'{kind} "{name}" is invalid: {why}')


def expired(asked: str, oldest: int) -> Refusal:
    return Refusal(410, "Expired", f"too old resource version: {asked} ({oldest})")
