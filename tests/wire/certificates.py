"""Certificates for tests of identities: one CA, leaves with the names a test asks for."""

from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bigfleet.wire.lines import TlsFiles

#: Wide enough for any machine's clock; nothing here tests expiry.
FROM = datetime(2020, 1, 1, tzinfo=UTC)
UNTIL = datetime(2120, 1, 1, tzinfo=UTC)


class Authority:
    def __init__(self, folder: Path, name: str = "test CA") -> None:
        self._folder = folder
        self._name = _named(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            self._started(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, SHA256())
        )
        self.path = folder / f"{name}.crt"
        self.path.write_bytes(certificate.public_bytes(Encoding.PEM))

    def leaf(self, file_name: str, *uris: str, trusts: "Authority | None" = None) -> TlsFiles:
        """A certificate of localhost with these URI names, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        both_ways = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            self._started(_named(file_name), key.public_key())
            .add_extension(x509.SubjectAlternativeName(_names(uris)), critical=False)
            .add_extension(x509.ExtendedKeyUsage(both_ways), critical=False)
            .sign(self._key, SHA256())
        )
        files = TlsFiles(
            cert=self._folder / f"{file_name}.crt",
            key=self._folder / f"{file_name}.key",
            ca=(trusts or self).path,
        )
        files.cert.write_bytes(certificate.public_bytes(Encoding.PEM))
        files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return files

    def _started(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name)
        builder = builder.public_key(key).serial_number(x509.random_serial_number())
        return builder.not_valid_before(FROM).not_valid_after(UNTIL)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _names(uris: Sequence[str]) -> list[x509.GeneralName]:
    localhost = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    return [*localhost, *(x509.UniformResourceIdentifier(uri) for uri in uris)]
