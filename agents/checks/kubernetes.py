"""Kubernetes manifests: fields that exist, and objects that fit each other and run with few rights."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from agents.checks.checked_file import CheckedFile, Found

SCHEMAS = Path(__file__).with_name("schemas")
MOST_CHARS, MOST_ALIASES, MOST_FILES, SHOWN_ERRORS = 200_000, 20, 50, 8
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS = ("resources", "components", "bases", "patchesStrategicMerge", "crds", "configurations")
_MANIFEST = re.compile(r"^kind:\s*\S", re.MULTILINE)
_TEMPLATES = {"Deployment", "StatefulSet", "DaemonSet", "Job"}
_LONG_RUNNING = {"Deployment", "StatefulSet", "DaemonSet"}


@dataclass(frozen=True)
class Manifest:
    """One document of a YAML file, from its line on."""

    start: int
    data: Any

    @property
    def kind(self) -> str:
        """What it says it is; "" for what is no object."""
        return str(self.data.get("kind", "")) if isinstance(self.data, dict) else ""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.kind} {str(at(self.data, 'metadata', 'name') or 'without a name')[:60]}"


def at(data: Any, *path: str) -> Any:
    """The value at these keys; None where something else is."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def rows(data: Any, *path: str) -> list[dict[str, Any]]:
    """The objects of the list at these keys."""
    found = at(data, *path)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def is_manifest(path: str, text: str) -> bool:
    """True for YAML that holds objects of Kubernetes, or a kustomization."""
    if posixpath.basename(path) in KUSTOMIZATIONS:
        return True
    return bool(
        path.endswith((".yaml", ".yml")) and re.search(r"^apiVersion:\s*\S", text, re.M) and _MANIFEST.search(text)
    )


def documents(text: str) -> list[Manifest]:
    """The documents of a YAML file; none where reading them is not worth the risk. Raises yaml.YAMLError."""
    if len(text) > MOST_CHARS:
        return []
    if sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)) > MOST_ALIASES:
        return []
    found, loader = [], yaml.SafeLoader(text)
    try:
        while loader.check_node():
            if (node := loader.get_node()) is None:
                break
            found.append(Manifest(node.start_mark.line + 1, _plain(loader.construct_document(node))))
    finally:
        loader.dispose()
    return [one for one in found if one.data is not None]


def _plain(data: Any) -> Any:
    """As Kubernetes reads it: empty values are left out, and dates are text."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_plain(one) for one in data]
    return data.isoformat() if isinstance(data, date) else data


@cache
def schema(name: str) -> Any:
    """A schema of this folder."""
    return json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))


@cache
def _validator(kind: str) -> Draft202012Validator | None:
    whole = schema("kubernetes")
    return Draft202012Validator(whole["kinds"][kind] | {"$defs": whole["$defs"]}) if kind in whole["kinds"] else None


def schema_problems(validator: Validator, data: Any) -> Iterator[tuple[str, str]]:
    """The key that does not fit, and why: of alternatives what is wrong in the one that goes furthest."""
    errors = list(islice(validator.iter_errors(data), SHOWN_ERRORS))
    if any(error.validator != "unevaluatedProperties" for error in errors):  # else these only repeat the others
        errors = [error for error in errors if error.validator != "unevaluatedProperties"]
    for error in errors:
        deepest = max(error.context or (), key=lambda one: len(one.absolute_path), default=error)
        if len(deepest.absolute_path) > len(error.absolute_path):
            error = deepest
        unknown = re.search(r"properties are not allowed \('([^']*)'", error.message)
        key = next((one for one in reversed(error.absolute_path) if isinstance(one, str)), "")
        yield unknown[1] if unknown else key, f"{error.json_path}: {' '.join(error.message.split())[:200]}"


def check_manifests(text: str, place: CheckedFile) -> Found:
    """What is wrong in a file of manifests, or in a kustomization."""
    found, lines = documents(text), text.splitlines()

    def line(one: Manifest, word: object) -> int:
        end = next((other.start for other in found if other.start > one.start), len(lines) + 1)
        spots = range(one.start, end)
        return next(
            (spot for spot in spots if re.search(rf"(?<![\w-]){re.escape(str(word))}", lines[spot - 1])), one.start
        )

    if posixpath.basename(place.path) in KUSTOMIZATIONS or any(one.kind == "Kustomization" for one in found):
        yield from ((line(one, word), said) for one in found for word, said in _kustomization(one.data, place))
        return
    beside = [*found, *_beside(place)]
    for one in found:
        validator = _validator(one.kind)
        if validator is not None:
            for key, said in schema_problems(validator, one.data):
                yield line(one, key or "kind"), f"{one.name} does not fit its schema: {said}"
        for word, said in _rules(one, beside):
            yield line(one, word), f"{one.name}: {said}"


def _beside(place: CheckedFile) -> Iterator[Manifest]:
    """The objects in the other files of the folder."""
    folder, read = posixpath.dirname(place.path), 0
    for path in sorted(place.there):
        if posixpath.dirname(path) == folder and path != place.path and path.endswith((".yaml", ".yml")):
            text = place.read(path) if read < MOST_FILES else None
            read += 1
            if text and is_manifest(path, text):
                try:
                    yield from documents(text)
                except (yaml.YAMLError, ValueError, RecursionError):
                    continue


def _kustomization(data: Any, place: CheckedFile) -> Iterator[tuple[str, str]]:
    listed = [one for key in _LISTS for one in (at(data, key) or ()) if isinstance(one, str)]
    listed += [str(one["path"]) for one in rows(data, "patches") if "path" in one]
    for key in ("configMapGenerator", "secretGenerator"):
        listed += [str(one).rpartition("=")[2] for made in rows(data, key) for one in made.get("files") or ()]
    for target in listed:
        if "://" not in target and not target.startswith(("git@", "github.com/")) and "\n" not in target:
            path = place.resolve(target)
            if not place.has(path):
                yield target, f"the kustomization lists {target[:80]}, which is not in the repository"


def pod_of(document: Manifest) -> Mapping[str, Any]:
    """The pod template of a workload, or the pod itself; empty for other kinds."""
    data = document.data
    found = (
        at(data, "spec", "template")
        if document.kind in _TEMPLATES
        else at(data, "spec", "jobTemplate", "spec", "template")
        if document.kind == "CronJob"
        else data
        if document.kind == "Pod"
        else None
    )
    return found if isinstance(found, dict) else {}


def _rules(one: Manifest, beside: list[Manifest]) -> Iterator[tuple[str, str]]:
    if pod := pod_of(one):
        labels = at(pod, "metadata", "labels") or {}
        wanted = at(one.data, "spec", "selector", "matchLabels")
        if one.kind in _LONG_RUNNING and isinstance(wanted, dict) and not _fits(wanted, labels):
            yield "matchLabels", "its selector does not match the labels of its pods; use the same labels in both"
        yield from _pod(pod.get("spec"), long_running=one.kind in _LONG_RUNNING)
        if one.kind in _LONG_RUNNING and not any(other.kind == "NetworkPolicy" for other in beside):
            yield "kind", "no NetworkPolicy stands beside it; add one that allows what it needs"
    elif one.kind == "Service" and isinstance(wanted := at(one.data, "spec", "selector"), dict):
        yield from _service(one, wanted, beside)


def _service(one: Manifest, wanted: Mapping[str, Any], beside: list[Manifest]) -> Iterator[tuple[str, str]]:
    chosen = [pod for other in beside if (pod := pod_of(other)) and _fits(wanted, at(pod, "metadata", "labels") or {})]
    if not chosen:
        if any(map(pod_of, beside)):
            yield "selector", "its selector matches no pod of this folder; use the labels of the pod template"
        return
    known = {
        port[key]
        for pod in chosen
        for container in rows(pod, "spec", "containers")
        for port in rows(container, "ports")
        for key in ("name", "containerPort")
        if key in port
    }
    for port in rows(one.data, "spec", "ports"):
        target = port.get("targetPort", port.get("port"))
        if target not in known:
            text = f"no container of its pods has the port {str(target)[:40]}; add it to ports, or correct it"
            yield "targetPort", text


def _fits(wanted: Mapping[str, Any], labels: Any) -> bool:
    return isinstance(labels, dict) and bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())


def _pod(spec: Any, *, long_running: bool) -> Iterator[tuple[str, str]]:
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if at(spec, key):
            yield key, f"{key} shares the machine's own; leave it out"
    for volume in rows(spec, "volumes"):
        if "hostPath" in volume:
            yield "hostPath", "a hostPath gives the machine's files away; use a volume claim or emptyDir"
    for container in [*rows(spec, "containers"), *rows(spec, "initContainers")]:
        yield from _container(container, spec)
    for container in rows(spec, "containers") if long_running else ():
        lacks = [probe for probe in ("readinessProbe", "livenessProbe") if probe not in container]
        if lacks:
            name, image = str(container.get("name", ""))[:60], str(container.get("image", ""))
            yield image or name, f"the container {name} has no {' and no '.join(lacks)}; probe what it answers"


def _container(container: Mapping[str, Any], spec: Any) -> Iterator[tuple[str, str]]:
    name, image = str(container.get("name", ""))[:60], str(container.get("image", ""))
    named, digest, _ = image.partition("@")
    if image and not digest and named.rpartition("/")[2].partition(":")[2] in ("", "latest"):
        yield image, f"the image {image[:80]} has no fixed version; name one, not latest"
    if not all(at(container, "resources", "limits", what) for what in ("cpu", "memory")):
        yield image or name, f"the container {name} has no limits; set resources.limits.cpu and memory"
    own = container.get("securityContext")
    root = at(own, "runAsNonRoot")
    root = at(spec, "securityContext", "runAsNonRoot") if root is None else root
    if root is not True or 0 in (at(own, "runAsUser"), at(spec, "securityContext", "runAsUser")):
        yield image or name, f"the container {name} may run as root; set securityContext.runAsNonRoot: true"
    if at(own, "privileged"):
        yield "privileged", f"the container {name} is privileged; leave it out"
    elif at(own, "allowPrivilegeEscalation") is not False:
        yield image or name, f"the container {name} may gain rights; set allowPrivilegeEscalation: false"
