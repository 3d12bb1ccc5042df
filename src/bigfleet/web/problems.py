"""Problems of a request: the status it is answered with, and what its sender can do."""

from http import HTTPStatus


class Problem(Exception):
    def __init__(self, status: HTTPStatus, text: str, *, field: str = "", remedy: str = "") -> None:
        """`field`: the parameter that is wrong."""
        super().__init__(text)
        self.status = status
        self.text = text
        self.field = field
        self.remedy = remedy


def bad(field: str, text: str, remedy: str = "") -> Problem:
    return Problem(HTTPStatus.BAD_REQUEST, text, field=field, remedy=remedy)
