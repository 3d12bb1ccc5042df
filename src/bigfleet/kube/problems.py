"""What an API server refuses or fails to do, by what the caller can do about it."""


class ApiProblem(Exception):
    """A call that did not succeed. `reason` is the server's word (`NotFound`, `Expired`)."""

    def __init__(
        self, status: int, reason: str, text: str, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(text)
        #: HTTP status; 0 where no answer came.
        self.status = status
        self.reason = reason
        self.text = text
        self.retry_after_seconds = retry_after_seconds


class NotFound(ApiProblem):
    """404: the object, or the whole kind, is not there."""


class Conflict(ApiProblem):
    """409: another write came first, or a precondition (uid, resourceVersion) does not hold."""


class AlreadyExists(Conflict):
    """409 on a create."""


class Expired(ApiProblem):
    """410: the resourceVersion or continue token is too old; list anew."""


class TooMany(ApiProblem):
    """429: asked too fast, or, for an eviction, a disruption budget does not allow it now."""


class Refused(ApiProblem):
    """Any other 4xx: asking again the same way will not help. 403 names the missing right."""


class NamespaceEnding(Refused):
    """403 on a create: its namespace is being deleted, which cannot be called off."""


class Unreachable(ApiProblem):
    """No answer, a 5xx, or a server not ready yet: perhaps done; asking again may help."""
