"""Keys and certificates of one control plane: its own authority, its server, its account tokens."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
#: Long ago and far ahead: nothing on the rig depends on the date.
_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Certificates:
    ca: Path
    cert: Path
    key: Path
    #: Signs the tokens of ServiceAccounts.
    accounts_key: Path
    accounts_public: Path


def certificates_in(folder: Path) -> Certificates:
    files = Certificates(
        *(folder / name for name in ("ca.crt", "api.crt", "api.key", "sa.key", "sa.pub"))
    )
    authority, server, accounts = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    issuer = _name("bigfleet e2e")
    ca = (
        _certificate(issuer, issuer, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority, hashes.SHA256())
    )
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    names = x509.SubjectAlternativeName([*(x509.DNSName(name) for name in _NAMES), *addresses])
    cert = (
        _certificate(_name("kube-apiserver"), issuer, server)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .sign(authority, hashes.SHA256())
    )
    files.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    files.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(_private(server))
    files.accounts_key.write_bytes(_private(accounts))
    files.accounts_public.write_bytes(
        accounts.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return files


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
    )


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
