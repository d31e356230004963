"""Releases in a namespace of a Kubernetes cluster, which starts them again when they end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox.hosting import kubeconfig, kubernetes_pods
from sandbox.hosting import kubernetes_objects as objects
from sandbox.hosting.base import Address, HostingError, Log, Release, Seen
from sandbox.hosting.kubernetes_api import GUIDE, Api, ApiError

NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
KINDS = {"Deployment": "deployments", "Service": "services", "NetworkPolicy": "networkpolicies"}
NEEDED = (
    *(("apps", "deployments", verb) for verb in ("get", "list", "create", "patch", "delete")),
    *(("", "services", verb) for verb in ("get", "create", "patch", "delete")),
    *(("networking.k8s.io", "networkpolicies", verb) for verb in ("get", "create", "patch")),
    ("", "pods", "list"),
    ("", "pods/log", "get"),
    *(("", "services/proxy", verb) for verb in ("get", "create", "update", "patch", "delete")),
)
NO_IMAGE = (
    "a cluster runs images: build and push one for each commit with your CI, or name an image that the cluster can pull"
)


class KubernetesHost:
    """A namespace that the caller has chosen. Without a kubeconfig: of the cluster that this process runs in.

    `installation` is a label that no other installation with rights in the namespace has; `folder` keeps certificates.
    An administrator chooses the kubeconfig: the server that it names is sent what is in the files that it names.
    """

    kind = "kubernetes"

    def __init__(
        self, namespace: str, *, installation: str, folder: Path, kubeconfig: str = "", context: str = ""
    ) -> None:
        for what, name, most in (("namespace", namespace, 63), ("installation", installation, 50)):
            if not NAME.fullmatch(name) or len(name) > most:
                raise HostingError(f'"{name}" cannot be the name of a {what}: small letters, digits and dashes')
        if namespace.startswith("kube-"):
            raise HostingError(f"namespace {namespace} belongs to the cluster itself; name another one")
        self.namespace, self.installation = namespace, installation
        self._folder, self._kubeconfig, self._context = folder, kubeconfig, context

    def problem(self) -> str:
        """Whether the namespace is there and the account has its rights; nothing is changed."""
        try:
            with self._api() as api:
                asked = {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectRulesReview",
                    "spec": {"namespace": self.namespace},
                }
                told = api.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", asked)["status"]
                missing = [need for need in NEEDED if not _allowed(told["resourceRules"], need)]
                if missing and not told.get("incomplete"):
                    named = ", ".join(f"{verb} {kind}" for _, kind, verb in missing[:4])
                    more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
                    return (
                        f"the account lacks rights in namespace {self.namespace} ({named}{more}); "
                        f"give it the Role of {GUIDE}"
                    )
                return self._namespace_problem(api)
        except HostingError as error:
            return str(error)

    def _namespace_problem(self, api: Api) -> str:
        try:
            told = api.ask("GET", f"/api/v1/namespaces/{self.namespace}")
        except ApiError as error:
            return "" if error.status == 403 else str(error)  # the right to see it is not needed
        ends = (told.get("status") or {}).get("phase") == "Terminating"
        return f"namespace {self.namespace} is being deleted; name another one" if ends else ""

    def start(self, release: Release) -> None:
        """Describe it to the cluster; one of that name that is ours already becomes what is described."""
        if not NAME.fullmatch(release.name) or release.name[0].isdigit() or len(release.name) > 63:
            raise HostingError(f'"{release.name}" cannot be the name of a Service: letters, digits, dashes, at most 63')
        if not release.image:
            raise HostingError(NO_IMAGE)
        with self._api() as api:
            self._put(api, objects.network_policy(self.installation))
            self._put(api, objects.deployment(release, self.installation))
            self._put(api, objects.service(release, self.installation))

    def look(self, name: str) -> Seen:
        with self._api() as api:
            found = self._ours(api, "Deployment", name)
            if found is None or "deletionTimestamp" in found["metadata"]:
                return Seen("gone")
            return kubernetes_pods.seen(found, self._pods(api, name))

    def logs(self, name: str, after: int = 0) -> Log:
        with self._api() as api:
            self._present(api, name)
            return kubernetes_pods.logs(api, self._pods(api, name), after)

    def restart(self, name: str) -> None:
        """As `kubectl rollout restart` does it."""
        with self._api() as api:
            uid = self._present(api, name)["metadata"]["uid"]
            stamp = {"metadata": {"annotations": {kubernetes_pods.RESTARTED: datetime.now(UTC).isoformat()}}}
            changed = {"metadata": {"uid": uid}, "spec": {"template": stamp}}
            api.ask("PATCH", api.path("deployments", name), changed)

    def stop(self, name: str) -> None:
        with self._api() as api:
            for kind in ("Service", "Deployment"):
                if found := self._ours(api, kind, name):
                    options = {
                        "apiVersion": "v1",
                        "kind": "DeleteOptions",
                        "propagationPolicy": "Background",
                        "preconditions": {"uid": found["metadata"]["uid"]},  # only what was looked at
                    }
                    try:
                        api.ask("DELETE", api.path(KINDS[kind], name), options)
                    except ApiError as error:
                        if error.status != 404:
                            raise

    def address(self, name: str) -> Address:
        """The API server's proxy to the Service, with our token: ask anew once in a while, for tokens are renewed."""
        with self._api() as api:
            self._present(api, name)
            return replace(api.access, url=f"{api.access.url}{api.path('services', name)}:http/proxy")

    def names(self) -> list[str]:
        with self._api() as api:
            found = api.each("deployments", objects.selector(self.installation))
            return sorted(str(each["metadata"]["name"]) for each in found)

    @contextmanager
    def _api(self) -> Iterator[Api]:
        if self._kubeconfig:
            access = kubeconfig.read(Path(self._kubeconfig), self._folder, self._context)
        else:
            access = kubeconfig.in_cluster()
        api = Api(access, self.namespace)
        try:
            yield api
        except (AttributeError, KeyError, TypeError, ValueError):  # JSON, but not of the documented shape
            raise api.not_kubernetes() from None

    def _pods(self, api: Api, name: str) -> list[dict[str, Any]]:
        return list(api.each("pods", objects.selector(self.installation, name)))

    def _ours(self, api: Api, kind: str, name: str) -> dict[str, Any] | None:
        """An object of this installation, or None. Raises HostingError for one that somebody else made."""
        found = api.find(KINDS[kind], name)
        wanted = objects.labels(self.installation).items()
        if found is not None and not wanted <= (found["metadata"].get("labels") or {}).items():
            raise HostingError(
                f"the {kind} {name} in namespace {self.namespace} was not made by this installation; "
                "it is left alone, so choose another name or namespace"
            )
        return found

    def _present(self, api: Api, name: str) -> dict[str, Any]:
        if (found := self._ours(api, "Deployment", name)) is None:
            raise HostingError(f"{name} is not in namespace {self.namespace}; deploy it again")
        return found

    def _put(self, api: Api, wanted: dict[str, Any]) -> None:
        """Create it, or change ours to it.

        Not by server-side apply, which takes over what others made: creating lets the cluster decide whose a name is,
        and the uid binds a change to the object whose labels were checked.
        """
        kind, name = str(wanted["kind"]), str(wanted["metadata"]["name"])
        try:
            api.ask("POST", api.path(KINDS[kind]), wanted)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            found = self._ours(api, kind, name)
            if found is None or "deletionTimestamp" in found["metadata"]:
                raise HostingError(f"the {kind} {name} is just being removed; try again in a moment") from None
            changed = {**wanted, "metadata": {**wanted["metadata"], "uid": found["metadata"]["uid"]}}
            api.ask("PATCH", api.path(KINDS[kind], name), changed)


def _allowed(rules: list[dict[str, Any]], need: tuple[str, str, str]) -> bool:
    group, kind, verb = need
    star = f"*/{kind.partition('/')[2]}" if "/" in kind else "*"
    return any(
        {group, "*"} & set(rule.get("apiGroups") or ())
        and {kind, star, "*"} & set(rule.get("resources") or ())
        and {verb, "*"} & set(rule["verbs"])
        and not rule.get("resourceNames")
        for rule in rules
    )
