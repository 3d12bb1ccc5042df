"""What AWS refuses, in the words of the SDK: which errors are worth a retry, and which mean "none".

Only codes that are known to pass are retried: any other code fails the machine with its own text,
where an operator sees it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

from bigfleet.provider import (
    BackendError,
    CapacityUnavailable,
    HostGone,
    Permanent,
    QuotaExceeded,
    Retryable,
)

#: Stock comes back in minutes, quota when an operator asks for more or machines go.
STOCK_REST_SECONDS = 120.0
QUOTA_REST_SECONDS = 600.0

NO_STOCK = frozenset(
    """
    InsufficientInstanceCapacity InsufficientHostCapacity InsufficientCapacity
    InsufficientReservedInstanceCapacity SpotMaxPriceTooLow UnfulfillableCapacity
    Server.InsufficientInstanceCapacity
    """.split()
)
NO_QUOTA = frozenset(
    """
    InstanceLimitExceeded VcpuLimitExceeded MaxSpotInstanceCountExceeded
    InsufficientFreeAddressesInSubnet VolumeLimitExceeded AddressLimitExceeded
    NetworkInterfaceLimitExceeded Client.VolumeLimitExceeded
    """.split()
)
NOT_NOW = frozenset(
    """
    RequestLimitExceeded Throttling ThrottlingException ThrottledException RequestThrottled
    TooManyRequestsException EC2ThrottledException BandwidthLimitExceeded SlowDown
    ServiceUnavailable Unavailable InternalError InternalFailure InternalServerError
    RequestTimeout RequestExpired IncorrectInstanceState ResourceCountExceeded
    """.split()
)
NO_HOST = frozenset(
    "InvalidInstanceID.NotFound InvalidInstanceID.Malformed IncorrectState.Terminated".split()
)


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def refusal_of(error: ClientError) -> BackendError:
    code = code_of(error)
    text = f"{code}: {error.response.get('Error', {}).get('Message', '')}"
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in NO_STOCK:
        return CapacityUnavailable(text, after=STOCK_REST_SECONDS)
    if code in NO_QUOTA:
        return QuotaExceeded(text, after=QUOTA_REST_SECONDS)
    if code in NO_HOST:
        return HostGone(text)
    if code in NOT_NOW or status >= 500 or status == 429:
        return Retryable(text)
    return Permanent(text)


def end_of(code: str, text: str) -> BackendError:
    """Why a launch that was accepted came to nothing: the instance's state reason."""
    if code in NO_STOCK:
        return CapacityUnavailable(f"{code}: {text}", after=STOCK_REST_SECONDS)
    if code in NO_QUOTA:
        return QuotaExceeded(f"{code}: {text}", after=QUOTA_REST_SECONDS)
    return HostGone(f"{code}: {text}" if code else "the instance ended while it started")


@contextmanager
def aws_words() -> Iterator[None]:
    """Around every call of boto3."""
    try:
        yield
    except ClientError as error:
        raise refusal_of(error) from error
    except (ConnectionError, HTTPClientError) as error:  # no connection, no answer in time
        raise Retryable(str(error)) from error
    except BotoCoreError as error:  # no credentials, a parameter AWS would not take
        raise Permanent(str(error)) from error
