"""Certificates for tests: of this machine, signed by themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = timedelta(days=1)


def write_certificate(path: Path, *, host: str = "localhost", address: str = "127.0.0.1", days: int = 1) -> Path:
    """Good from `days` - 2 from now until `days` from now; the key is in the file as well."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    names = [x509.DNSName(host), x509.IPAddress(ip_address(address))]
    end = datetime.now(UTC) + days * DAY
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(end - 2 * DAY).not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path
