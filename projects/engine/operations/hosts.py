"""The hosts of this process, one for each place that targets name."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import httpx

from projects.models import Deployment, Target
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
    raise HostingError(f"deploying to {target.get_kind_display()} cannot be done by this version")


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


def as_data(address: Address) -> dict[str, Any]:
    """An address as the database keeps it."""
    return asdict(address)


def ask(address: Mapping[str, Any], method: str, path: str, **more: Any) -> httpx.Response:
    """One request to a release. Raises httpx.HTTPError."""
    uds = str(address.get("socket") or "") or None
    verify: Any = str(address.get("ca") or "") or True
    transport = httpx.HTTPTransport(uds=uds, verify=verify)
    base = str(address.get("url") or "http://app")
    with httpx.Client(transport=transport, base_url=base, timeout=ASK_SECONDS, trust_env=False) as client:
        headers = {**address.get("headers", {}), **more.pop("headers", {})}
        return client.request(method, path, headers=headers, **more)


def answers(row: Deployment) -> tuple[bool, str]:
    """Whether a deployment passes its health check, and what it answered.

    Where a person named the path, only success counts; else any answer that is no server error.
    """
    chosen = row.target.options.get("health")
    try:
        status = ask(row.address, "GET", chosen or "/").status_code
    except httpx.HTTPError as error:
        return False, f"no answer ({type(error).__name__})"
    return status < (400 if chosen else 500), f"{chosen or '/'} answered {status}"
