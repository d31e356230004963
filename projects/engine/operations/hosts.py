"""The hosts of this process, one for each place that targets name."""

from __future__ import annotations

import atexit
import hashlib
import os
import threading
from typing import Any

import httpx
from django.conf import settings
from django.db.models import F

from projects.errors import BadInput
from projects.models import Deployment, Target
from projects.storage.paths import home
from sandbox.hosting.base import Address, Host, HostingError
from sandbox.hosting.bubblewrap import BubblewrapHost

ASK_SECONDS = 10.0
_lock = threading.Lock()
_hosts: dict[tuple[str, ...], Host] = {}


def host_of(target: Target) -> Host:
    """Where the releases of a target run. Raises HostingError for a kind that cannot be had here."""
    told = target.options
    key = (target.kind, *(str(told.get(name, "")) for name in ("kubeconfig", "context", "namespace")))
    if target.kind == Target.Kind.SANDBOX:
        key = (target.kind,)
    with _lock:
        if key not in _hosts:
            _hosts[key] = _made(target)
        return _hosts[key]


def _made(target: Target) -> Host:
    if target.kind == Target.Kind.SANDBOX:
        host = BubblewrapHost()
        atexit.register(host.close)
        return host
    if target.kind == Target.Kind.KUBERNETES:
        told = target.options
        if not told.get("namespace"):
            raise HostingError("name the namespace to deploy to; nothing is guessed in a cluster")
        from sandbox.hosting.kubernetes import KubernetesHost  # on use, as Compose below: slow to load

        return KubernetesHost(
            told["namespace"],
            installation=installation(),
            folder=home() / "kubernetes",
            kubeconfig=told.get("kubeconfig", ""),
            context=told.get("context", ""),
        )
    from sandbox.hosting.compose import ComposeHost

    return ComposeHost(installation(), os.environ.get("AISWE_BUILD_NETWORK", "none") or "none")


def installation() -> str:
    """A label that no other installation has: what it marks is ours."""
    return f"aiswe-{hashlib.sha256(str(settings.SECRET_KEY).encode()).hexdigest()[:16]}"


def close() -> None:
    """Stop what runs in sandboxes of this process."""
    with _lock:
        hosts = list(_hosts.values())
        _hosts.clear()
    for host in hosts:
        if isinstance(host, BubblewrapHost):
            host.close()


def is_local(target: Target) -> bool:
    """Whether its releases live and die with the worker that started them."""
    return target.kind == Target.Kind.SANDBOX


def address_of(row: Deployment) -> Address:
    """Where the requests of a deployment go. Raises HostingError.

    Only a socket is kept in the database: what lets us in elsewhere is a secret.
    """
    if is_local(row.target):
        return Address(socket=str(row.address.get("socket", "")))
    return host_of(row.target).address(row.release_name)


def live_on(project: str, target: str) -> tuple[int, Address] | None:
    """What is live on a target, by the slugs of project and target, and where its requests go; None for nothing."""
    rows = Deployment.objects.select_related("target__project")
    row = rows.filter(target__project__slug=project, target__name=target, pk=F("target__live")).first()
    try:
        return (row.pk, address_of(row)) if row is not None else None
    except HostingError:
        return None


def url_of(address: Address, path: str) -> str:
    """The URL of a path on a release. Raises BadInput for one that could lead elsewhere on its server."""
    try:
        return address.to(path)
    except HostingError as refused:
        raise BadInput(str(refused)) from None


def ask(row: Deployment, method: str, path: str, **more: Any) -> httpx.Response:
    """One request to a deployment. Raises httpx.HTTPError and HostingError."""
    address = address_of(row)
    transport = httpx.HTTPTransport(uds=address.socket or None, verify=address.tls())
    with httpx.Client(transport=transport, timeout=ASK_SECONDS, trust_env=False) as client:
        headers = {**more.pop("headers", {}), **address.headers}
        return client.request(method, address.to(path), headers=headers, **more)


def answers(row: Deployment) -> tuple[bool, str]:
    """Whether a deployment passes its health check, and what it answered.

    Where a person named the path, only success counts; else any answer that is no server error.
    """
    chosen = row.target.options.get("health")
    try:
        answer = ask(row, "GET", chosen or "/")
    except (httpx.HTTPError, HostingError, OSError) as error:
        return False, f"no answer ({type(error).__name__})"
    if "x-aiswe" in answer.headers:  # sandbox.inside.forward
        return False, "nothing listens on its port yet"
    return answer.status_code < (400 if chosen else 500), f"{chosen or '/'} answered {answer.status_code}"
