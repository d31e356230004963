"""One namespace of a Kubernetes API, asked over plain HTTP.

The official client is not used: it takes 126 MB and runs the programs that a kubeconfig names, and a dozen documented
routes are all we need.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from sandbox.hosting.base import Address, HostingError

SECONDS = 30.0  # for an answer as a whole
PATIENCE = httpx.Timeout(10.0, connect=5.0)
MOST_BYTES = 8_000_000
GUIDE = "docs/how-to/deploy-kubernetes.md"


class ApiError(HostingError):
    """The API answered with an error; `reason` is its own word for it."""

    def __init__(self, text: str, status: int, reason: str) -> None:
        super().__init__(text)
        self.status, self.reason = status, reason


def brief(text: object, most: int = 300) -> str:
    """Foreign text on one line, for a sentence."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in str(text or "")[: 4 * most]).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


class Api:
    """Asks; every answer is bounded in size and time, and every error is a HostingError with what to do."""

    def __init__(self, access: Address, namespace: str) -> None:
        self.access, self.namespace = access, namespace
        try:
            self.host = httpx.URL(access.url).netloc.decode()
            self._tls = access.tls()
        except httpx.InvalidURL:
            raise HostingError("the server of the kubeconfig is not an address") from None
        except OSError as error:
            raise HostingError(f"a certificate of the kubeconfig cannot be used: {brief(error)}") from None

    def path(self, kind: str, name: str = "") -> str:
        """The route of the objects of a kind, or of one of them."""
        group = {"deployments": "apis/apps/v1", "networkpolicies": "apis/networking.k8s.io/v1"}.get(kind, "api/v1")
        return f"/{group}/namespaces/{self.namespace}/{kind}" + (f"/{name}" if name else "")

    def ask(self, method: str, path: str, body: object = None, **params: str | int) -> dict[str, Any]:
        """One object. Raises ApiError for an error that the API tells, else HostingError."""
        with self.stream(method, path, body, **params) as pieces:
            found = self._json(pieces)
        if found is None:
            raise self.not_kubernetes()
        return found

    def find(self, kind: str, name: str) -> dict[str, Any] | None:
        """One object, or None."""
        try:
            return self.ask("GET", self.path(kind, name))
        except ApiError as error:
            if error.status == 404 and error.reason == "NotFound":
                return None
            raise

    def each(self, kind: str, selector: str) -> Iterator[dict[str, Any]]:
        """The objects with these labels, page by page."""
        more: dict[str, str | int] = {"labelSelector": selector, "limit": 100}
        for _ in range(50):
            page = self.ask("GET", self.path(kind), **more)
            yield from page.get("items") or ()
            if not (following := page["metadata"].get("continue")):
                return
            more["continue"] = following

    @contextmanager
    def stream(self, method: str, path: str, body: object = None, **params: str | int) -> Iterator[Iterator[bytes]]:
        """The pieces of an answer, for as long as SECONDS. Raises as ask()."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {**self.access.headers, "Accept-Encoding": "identity", "Content-Type": kind, "User-Agent": "aiswe"}
        content = None if body is None else json.dumps(body).encode()
        url = self.access.url + path
        try:
            with (
                httpx.Client(verify=self._tls, timeout=PATIENCE, trust_env=False) as client,
                client.stream(method, url, params=params, content=content, headers=headers) as answer,
            ):
                pieces = self._pieces(answer)
                if not answer.is_success:
                    raise self._refusal(answer.status_code, self._json(pieces) or {})
                yield pieces
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # `from None`: the HTTP library's errors carry the request, and with it the token.
            raise self._away(error) from None

    def _pieces(self, answer: httpx.Response) -> Iterator[bytes]:
        ends = time.monotonic() + SECONDS
        for piece in answer.iter_bytes():
            if time.monotonic() > ends:
                raise HostingError(f"an answer of the cluster at {self.host} takes too long; try again later")
            yield piece

    def _json(self, pieces: Iterator[bytes]) -> dict[str, Any] | None:
        raw = bytearray()
        for piece in pieces:
            raw += piece
            if len(raw) > MOST_BYTES:
                raise HostingError(f"an answer of the cluster at {self.host} is too large")
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def not_kubernetes(self) -> HostingError:
        """For an answer that no Kubernetes API gives."""
        return HostingError(f"what answers at {self.host} is not a Kubernetes API; check the server of the kubeconfig")

    def _away(self, error: Exception) -> HostingError:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return HostingError(
                f"the certificate of {self.host} is not of the certificate-authority that the kubeconfig names"
            )
        late = "in time" if isinstance(error, httpx.TimeoutException) else f"({type(error).__name__})"
        return HostingError(
            f"the cluster at {self.host} does not answer {late}; check that it is up and can be reached from here"
        )

    def _refusal(self, status: int, told: dict[str, Any]) -> HostingError:
        if told.get("kind") != "Status":
            if status in (401, 403) or status >= 500:
                return ApiError(f"the cluster at {self.host} answered with HTTP {status}; try again later", status, "")
            return self.not_kubernetes()
        reason, message = str(told.get("reason") or ""), brief(told.get("message"))
        if status == 401:
            text = "the cluster does not accept the token or certificate (expired or revoked?); put a new one into it"
        elif status == 403 and "quota" in message:
            text = f"the quota of namespace {self.namespace} is used up; stop a release or raise it: {message}"
        elif status == 403:
            text = f"the account may not do this; give it the Role of {GUIDE}: {message}"
        elif status == 404 and "namespaces" in message:
            text = f"there is no namespace {self.namespace}; create it: kubectl create namespace {self.namespace}"
        elif status == 409:
            text = f"somebody else changed it at the same time; try again: {message}"
        elif status == 422 or status == 400:
            text = f"the cluster does not accept it; correct the target or the release: {message}"
        else:
            text = f"the cluster has a problem of its own; try again later: {message or f'HTTP {status}'}"
        return ApiError(text, status, reason)
