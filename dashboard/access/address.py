"""Where a request came from."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from projects.services.accounts.console_token import is_bound_to_loopback, is_loopback

FORWARDING = ("forwarded", "x-real-ip", "via")


def of(request: HttpRequest) -> str:
    """The address of whoever asks, for counting wrong tries.

    A forwarded address counts only behind the proxy that AISWE_HTTPS speaks of, and only the last one, which that
    proxy added itself: anything before it is what the client claims.
    """
    if settings.HTTPS:
        claimed = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
        if claimed:
            return one_place(claimed)
    return one_place(str(request.META.get("REMOTE_ADDR", "")))


def is_this_machine(request: HttpRequest) -> bool:
    """Whether nobody but a browser on this machine can have asked: server, peer and Host are loopback, no proxy spoke.

    HTTP/1.0 and a server that is configured for other hosts mean a proxy too: one that adds no header of its own.
    """
    names = [name.lower() for name in request.headers]
    if any(name in FORWARDING or name.startswith("x-forwarded") for name in names):
        return False
    if getattr(request, "scope", {}).get("http_version") == "1.0":
        return False
    if any(not is_loopback(host.lstrip(".")) for host in settings.ALLOWED_HOSTS):
        return False
    host = urlsplit(f"//{request.get_host()}").hostname or ""
    return is_bound_to_loopback() and is_loopback(str(request.META.get("REMOTE_ADDR", ""))) and is_loopback(host)


def one_place(text: str) -> str:
    """The same for all addresses one household can take: no port, and of IPv6 the network of 64 bits."""
    host = text[1:].partition("]")[0] if text.startswith("[") else text
    if host.count(":") == 1:  # IPv4 with a port, as some proxies write it
        host = host.partition(":")[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return text[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)
