"""Which errors of AWS are retried, which rest the offering, and which fail the machine."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from bigfleet.provider import (
    CapacityUnavailable,
    HostGone,
    Permanent,
    QuotaExceeded,
    Retryable,
)
from bigfleet_aws.refusals import aws_words, end_of, refusal_of


def error(code: str, status: int = 400) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "said AWS"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "RunInstances")


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("InsufficientInstanceCapacity", CapacityUnavailable),
        ("SpotMaxPriceTooLow", CapacityUnavailable),
        ("VcpuLimitExceeded", QuotaExceeded),
        ("MaxSpotInstanceCountExceeded", QuotaExceeded),
        ("RequestLimitExceeded", Retryable),
        ("ThrottlingException", Retryable),
        ("InvalidInstanceID.NotFound", HostGone),
        ("UnauthorizedOperation", Permanent),
        ("IdempotentParameterMismatch", Permanent),
        ("SomethingUnknown", Permanent),
    ],
)
def test_a_code_has_a_meaning(code: str, meaning: type[Exception]) -> None:
    refusal = refusal_of(error(code))
    assert type(refusal) is meaning
    assert str(refusal) == f"{code}: said AWS"


@pytest.mark.parametrize("status", [500, 503, 429])
def test_errors_of_the_server_are_retried_with_any_code(status: int) -> None:
    assert isinstance(refusal_of(error("Odd", status)), Retryable)


def test_a_stock_out_rests_the_offering_for_a_while() -> None:
    refusal = refusal_of(error("InsufficientInstanceCapacity"))
    assert isinstance(refusal, CapacityUnavailable)
    assert refusal.after == 120.0


def test_no_connection_is_retried() -> None:
    with pytest.raises(Retryable), aws_words():
        raise EndpointConnectionError(endpoint_url="http://nowhere")


def test_missing_credentials_are_not_retried() -> None:
    with pytest.raises(Permanent), aws_words():
        raise NoCredentialsError()


def test_an_instance_that_ended_for_want_of_stock_is_a_stock_out() -> None:
    ended = end_of("Server.InsufficientInstanceCapacity", "no more")
    assert isinstance(ended, CapacityUnavailable)
