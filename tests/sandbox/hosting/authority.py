"""A certificate authority for one test, and what it signs."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


class Authority:
    """Signs for 127.0.0.1; its own certificate is the file `ca`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.ca = folder / "ca.crt"
        folder.mkdir(exist_ok=True)
        self.ca.write_bytes(self._signed(self._name, self._key, is_authority=True))

    def _signed(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool = False) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder(self._name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
            .public_bytes(PEM)
        )

    def signed(self, name: str) -> tuple[Path, Path]:
        """Files with a certificate and its key; the first holds the key too, as servers want it."""
        key = ec.generate_private_key(ec.SECP256R1())
        secret = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        made = self._signed(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key)
        both, alone = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        both.write_bytes(made + secret)
        alone.write_bytes(secret)
        return both, alone
