"""Where a Kubernetes API is and what it takes to be let in: a kubeconfig file, or the service account of this Pod."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from sandbox.hosting.base import Address, HostingError

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # where every Pod finds its own
MOST_BYTES = 1_000_000
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PROGRAM = "runs a program to sign in; use the token of a service account instead"
REFUSED = {
    "exec": PROGRAM,
    "auth-provider": PROGRAM,
    "username": "signs in by password, which Kubernetes no longer accepts; use the token of a service account instead",
    "as": "acts as somebody else; use an account that has the rights itself",
    "insecure-skip-tls-verify": "trusts any server; name its certificate-authority instead",
    "proxy-url": "goes through a proxy, which is not supported",
    "tls-server-name": "expects a certificate for another name, which is not supported",
}


def read(file: Path, folder: Path, context: str = "") -> Address:
    """The API server of a context, else of the current one; certificates in the file are kept in `folder`.

    It is read anew for each use, so that a renewed token counts at once. Raises HostingError.
    """
    told = _load(file)
    name = context or str(told.get("current-context") or "")
    if not name:
        raise HostingError(f"{file} has no current-context; name the context to use")
    chosen = _named(file, told, "context", name)
    cluster = _named(file, told, "cluster", str(chosen.get("cluster")))
    user = _named(file, told, "user", str(chosen["user"])) if chosen.get("user") else {}
    server = str(cluster.get("server") or "").rstrip("/")
    token = str(user.get("token") or "")
    if user.get("tokenFile"):
        token = _bytes(file.parent / str(user["tokenFile"])).decode(errors="replace").strip()
    certificate = _pem(file, user, "client-certificate")
    if certificate:
        certificate += b"\n" + _pem(file, user, "client-key")
    authority = _pem(file, cluster, "certificate-authority")
    try:
        parts = urlsplit(server)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme == "http" and (parts.hostname not in LOOPBACK or token):
        raise HostingError(f"{file}: {server} is not encrypted; only https is used, or kubectl proxy on this machine")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        raise HostingError(f'{file}: the server of cluster "{chosen.get("cluster")}" is not an https address')
    if parts.scheme == "https" and not token and not certificate:
        raise HostingError(f'{file}: context "{name}" has neither a token nor a client certificate')
    return Address(
        url=server,
        headers=_headers(token, file),
        ca=_kept(folder, authority),
        certificate=_kept(folder, certificate),
    )


def in_cluster(account: Path = ACCOUNT) -> Address:
    """The API server of the cluster that this process runs in. Raises HostingError."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (account / "token").is_file():
        raise HostingError("this is not a Pod with a service account; name a kubeconfig file")
    token = _bytes(account / "token").decode(errors="replace").strip()
    place = f"[{host}]" if ":" in host else host
    return Address(
        url=f"https://{place}:{port}", headers=_headers(token, account / "token"), ca=str(account / "ca.crt")
    )


def _headers(token: str, file: Path) -> dict[str, str]:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise HostingError(f"{file}: the token is not one line of text")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _load(file: Path) -> dict[str, Any]:
    try:
        told = yaml.safe_load(_bytes(file))
    except (yaml.YAMLError, ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise HostingError(f"{file} is not a kubeconfig file")
    return told


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise HostingError(f"{file} cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise HostingError(f"{file} has more than {MOST_BYTES} bytes")
    return data


def _named(file: Path, told: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    entries = told.get(f"{kind}s")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(kind), dict):
            for key, why in REFUSED.items():
                if entry[kind].get(key):
                    raise HostingError(f'{file}: {kind} "{name}" has "{key}", which {why}')
            return dict(entry[kind])
    raise HostingError(f'{file} has no {kind} "{name}"')


def _pem(file: Path, entry: dict[str, Any], key: str) -> bytes:
    """What a key names, or its `-data` twin holds; the twin counts, as for kubectl."""
    if data := entry.get(f"{key}-data"):
        try:
            return base64.b64decode(str(data), validate=True)
        except (binascii.Error, ValueError):
            raise HostingError(f"{file}: {key}-data is not base64") from None
    return _bytes(file.parent / str(entry[key])) if entry.get(key) else b""


def _kept(folder: Path, data: bytes) -> str:
    """A file of ours with these bytes, for TLS libraries want files; "" for none."""
    if not data:
        return ""
    kept = folder / f"{hashlib.sha256(data).hexdigest()[:24]}.pem"
    try:
        if not kept.is_file():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = folder / f"{kept.name}.{os.getpid()}-{os.urandom(4).hex()}"
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(data)
            fresh.replace(kept)
    except OSError as error:
        raise HostingError(f"{folder} cannot be written: {error.strerror or error}") from None
    return str(kept)
