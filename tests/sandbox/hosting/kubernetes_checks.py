"""What the stand-in for a Kubernetes API demands of objects: the rules of the real one that ours could break."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
KINDS = {
    "deployments": ("apps/v1", "Deployment"),
    "services": ("v1", "Service"),
    "networkpolicies": ("networking.k8s.io/v1", "NetworkPolicy"),
}
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_KEY = re.compile(r"([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
QUANTITY = re.compile(r"\d+(\.\d+)?(m|k|M|G|Ki|Mi|Gi)?")
VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


class Refused(Exception):
    """An answer that is not a success, as the API puts it."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message

    def told(self) -> Json:
        """The Status object."""
        told = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {}, "message": self.message}
        return told | {"reason": self.reason, "code": self.status}


def check(kind: str, namespace: str, body: Json) -> None:
    """Raise Refused as the API does: 400 for the wrong kind, 422 with each thing that is wrong."""
    version, word = KINDS[kind]
    if (body.get("apiVersion"), body.get("kind")) != (version, word):
        raise Refused(400, "BadRequest", f"{body.get('kind')} in version {body.get('apiVersion')} cannot be handled")
    if body.get("metadata", {}).get("namespace", namespace) != namespace:
        raise Refused(400, "BadRequest", "the namespace of the provided object does not match the one of the request")
    wrong = [*_metadata(kind, body.get("metadata", {})), *CHECKS[kind](body.get("spec", {}))]
    if wrong:
        name = body.get("metadata", {}).get("name")
        raise Refused(422, "Invalid", f'{word} "{name}" is invalid: [{", ".join(wrong)}]')


def _metadata(kind: str, told: Json) -> Iterator[str]:
    pattern = SERVICE_NAME if kind == "services" else LABEL
    if not pattern.fullmatch(str(told.get("name", ""))):
        yield "metadata.name: Invalid value: a DNS label must consist of lower case alphanumeric characters or '-'"
    yield from _labels("metadata.labels", told.get("labels", {}))


def _labels(where: str, told: Json) -> Iterator[str]:
    for key, value in told.items():
        if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
            yield f"{where}: Invalid value: {key}={value}"


def _port(where: str, value: object) -> Iterator[str]:
    if not isinstance(value, int) or not 1 <= value <= 65535:
        yield f"{where}: Invalid value: {value}: must be between 1 and 65535, inclusive"


def _policy(spec: Json) -> Iterator[str]:
    if "podSelector" not in spec:
        yield "spec.podSelector: Required value"
    if not set(spec.get("policyTypes", ())) <= {"Ingress", "Egress"}:
        yield "spec.policyTypes: Unsupported value"


def _service(spec: Json) -> Iterator[str]:
    if not spec.get("ports"):
        yield "spec.ports: Required value"
    for port in spec.get("ports", ()):
        yield from _port("spec.ports[0].port", port.get("port"))
    yield from _labels("spec.selector", spec.get("selector", {}))


def _deployment(spec: Json) -> Iterator[str]:
    template = spec.get("template", {})
    own = template.get("metadata", {}).get("labels", {})
    wanted = spec.get("selector", {}).get("matchLabels", {})
    if not wanted:
        yield "spec.selector: Required value"
    elif not wanted.items() <= own.items():
        yield "spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`"
    yield from _labels("spec.template.metadata.labels", own)
    if spec.get("strategy", {}).get("type", "RollingUpdate") not in ("Recreate", "RollingUpdate"):
        yield "spec.strategy.type: Unsupported value"
    pod = template.get("spec", {})
    volumes = {volume.get("name") for volume in pod.get("volumes", ())}
    if not pod.get("containers"):
        yield "spec.template.spec.containers: Required value"
    for container in pod.get("containers", ()):
        yield from _container(container, volumes)
    yield from _restricted(pod)


def _container(told: Json, volumes: set[str]) -> Iterator[str]:
    where = "spec.template.spec.containers[0]"
    if not LABEL.fullmatch(told.get("name", "")):
        yield f"{where}.name: Required value"
    if not told.get("image") or told["image"] != told["image"].strip():
        yield f"{where}.image: Required value"
    for port in told.get("ports", ()):
        yield from _port(f"{where}.ports[0].containerPort", port.get("containerPort"))
    for variable in told.get("env", ()):
        if not VARIABLE.fullmatch(variable.get("name", "")):
            yield f"{where}.env[0].name: Invalid value: {variable.get('name')!r}"
        if not isinstance(variable.get("value"), str):
            yield f"{where}.env[0].value: expected a string"
    for amounts in told.get("resources", {}).values():
        yield from (
            f"{where}.resources: Invalid value: {one}" for one in amounts.values() if not QUANTITY.fullmatch(one)
        )
    for probe in (told.get("readinessProbe"), told.get("livenessProbe")):
        if probe is None or "httpGet" not in probe:
            yield f"{where}.readinessProbe: must specify a handler type"
        else:
            yield from _port(f"{where}.readinessProbe.httpGet.port", probe["httpGet"].get("port"))
    for mount in told.get("volumeMounts", ()):
        if mount.get("name") not in volumes:
            yield f"{where}.volumeMounts[0].name: Not found: {mount.get('name')!r}"


def _restricted(pod: Json) -> Iterator[str]:
    """The Pod security standard "restricted", as a namespace that enforces it has it.

    https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    whole = pod.get("securityContext", {})
    for container in pod.get("containers", ()):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation != false"
        if own.get("capabilities", {}).get("drop") != ["ALL"]:
            yield "unrestricted capabilities"
        if not (own.get("runAsNonRoot") or whole.get("runAsNonRoot")):
            yield "runAsNonRoot != true"
        if own.get("seccompProfile", whole.get("seccompProfile", {})).get("type") != "RuntimeDefault":
            yield "seccompProfile"
    if any("hostPath" in volume for volume in pod.get("volumes", ())) or pod.get("hostNetwork"):
        yield "hostPath or hostNetwork"


CHECKS = {"deployments": _deployment, "services": _service, "networkpolicies": _policy}
