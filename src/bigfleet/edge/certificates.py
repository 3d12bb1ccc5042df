"""Development certificates: an authority of one's own, and leaves that carry one role's name.

For laptops, tests and first steps; a real fleet has its own authority and only needs the names to
be the same. Time is an argument, as everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bigfleet.model.machines import Instant

#: Every leaf may serve on the loopback.
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Clocks of two machines differ; a certificate must be valid at once on all of them.
_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, PEM."""

    certificate: bytes
    key: bytes
    expires_at: Instant


class UnusableAuthority(ValueError):
    """The text says why the authority cannot sign."""


def authority(name: str, now: Instant, days: int) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _named(name)
    builder = (
        _begun(subject, subject, key.public_key(), now, _moment(now) + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
    )
    return _pair(builder.sign(key, SHA256()), key)


def leaf(
    signer: Pair, name: str, uri: str, now: Instant, days: int, hosts: Sequence[str] = ()
) -> Pair:
    """Good for serving and for dialling; without a uri, for serving only.

    Raises UnusableAuthority. Never outlives its authority.
    """
    issuer, issuer_key = _signer(signer, now)
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(_moment(now) + timedelta(days=days), issuer.not_valid_after_utc)
    names = [_host(host) for host in dict.fromkeys((*LOOPBACK, *hosts))]
    names += [x509.UniformResourceIdentifier(uri)] if uri else []
    both_ways = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    from_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        _begun(_named(name), issuer.subject, key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both_ways), critical=False)
        .add_extension(from_issuer, critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return _pair(builder.sign(issuer_key, SHA256()), key)


def expires_at(certificate: bytes) -> float | None:
    """When a PEM certificate ends, in seconds since 1970; None: it is not a certificate."""
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
    except ValueError:
        return None


def _signer(signer: Pair, now: Instant) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate(signer.certificate)
        key = load_pem_private_key(signer.key, None)
    except (ValueError, TypeError) as problem:
        raise UnusableAuthority(f"it cannot be read: {problem}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise UnusableAuthority("its key is of another kind than `bigfleet certs ca` makes")
    if certificate.public_key() != key.public_key():
        raise UnusableAuthority("its certificate and its key do not belong together")
    if certificate.not_valid_after_utc <= _moment(now):
        raise UnusableAuthority(f"it expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    return certificate, key


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: Instant,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_moment(now) - _SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    seconds = (certificate.not_valid_after_utc - _EPOCH) // timedelta(seconds=1)
    return Pair(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        seconds * 1_000_000_000,
    )


def _named(name: str) -> x509.Name:
    # A common name holds at most 64 characters; the identity is the URI, not this.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _moment(instant: Instant) -> datetime:
    return _EPOCH + timedelta(seconds=instant // 1_000_000_000)
