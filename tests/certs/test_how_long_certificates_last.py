"""A leaf never outlives its authority, and an expired authority signs nothing."""

import pytest
from cryptography import x509

from bigfleet.edge.certificates import UnusableAuthority, authority, leaf
from bigfleet.model.options import SECOND

NOW = 1_700_000_000 * SECOND
DAY = 86400 * SECOND


def test_a_leaf_lasts_as_long_as_asked() -> None:
    assert (
        leaf(authority("ca", NOW, 10), "x", "bigfleet://admin", NOW, 3).expires_at == NOW + 3 * DAY
    )


def test_a_leaf_never_outlives_its_authority() -> None:
    signer = authority("ca", NOW, 10)
    made = leaf(signer, "x", "bigfleet://admin", NOW + 9 * DAY, 365)
    assert made.expires_at == signer.expires_at


def test_an_expired_authority_signs_nothing() -> None:
    signer = authority("ca", NOW, 10)
    with pytest.raises(UnusableAuthority, match="it expired on 2023-11-24"):
        leaf(signer, "x", "bigfleet://admin", NOW + 10 * DAY, 1)


def test_a_certificate_is_good_at_once_also_for_a_clock_that_runs_behind() -> None:
    made = x509.load_pem_x509_certificate(authority("ca", NOW, 1).certificate)
    assert made.not_valid_before_utc.timestamp() == NOW // SECOND - 3600
