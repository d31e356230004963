"""Write the schemas in agents/checks/schemas from the packages that carry them.

    .venv/bin/python scripts/container_schemas.py FOLDER

FOLDER is check_jsonschema/builtin_schemas/vendor of the package check-jsonschema: it ships the schemas of compose
files, GitHub workflows and GitLab's CI with their licences. Kubernetes' come from the models of the locked `kubernetes`
client. Descriptions are left out of all.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kubernetes.client import models

TARGET = Path(__file__).resolve().parent.parent / "agents" / "checks" / "schemas"
# Where a kind is defined, and the model of it.
KINDS = {
    "apps/v1": {"Deployment": "V1", "StatefulSet": "V1", "DaemonSet": "V1"},
    "batch/v1": {"Job": "V1", "CronJob": "V1"},
    "networking.k8s.io/v1": {"Ingress": "V1", "NetworkPolicy": "V1"},
    "autoscaling/v2": {"HorizontalPodAutoscaler": "V2"},
    "policy/v1": {"PodDisruptionBudget": "V1"},
    "rbac.authorization.k8s.io/v1": {"Role": "V1", "RoleBinding": "V1"},
    "v1": dict.fromkeys(
        ("Pod", "Service", "ConfigMap", "Secret", "Namespace", "ServiceAccount", "PersistentVolumeClaim"), "V1"
    ),
}
QUANTITIES = frozenset({"limits", "requests", "capacity", "hard", "overhead"})  # numbers are quantities too
DROPPED = frozenset({"title", "description", "default", "status"})


def short(node: Any, name: str = "") -> Any:
    """The schema without texts and nulls; models take no unknown field."""
    if isinstance(node, list):
        return [short(one) for one in node]
    if not isinstance(node, dict):
        return node
    if "anyOf" in node:
        kinds = [one for one in node["anyOf"] if one.get("type") != "null"]
        return short(kinds[0], name) if len(kinds) == 1 else {"anyOf": [short(one) for one in kinds]}
    if "properties" in node:
        fields = {key: short(value, key) for key, value in node["properties"].items() if key != "status"}
        found = {"type": "object", "properties": fields, "additionalProperties": False}
        return found | ({"required": node["required"]} if node.get("required") else {})
    if name in QUANTITIES and "additionalProperties" in node:
        return {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
    return {key: short(value, key) for key, value in node.items() if key not in DROPPED and key != "format"}


def used(node: Any, definitions: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The definitions that a schema names, and those that they name."""
    if isinstance(node, dict):
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name and name not in found:
            found[name] = definitions[name]
            used(found[name], definitions, found)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        used(child, definitions, found)
    return found


def kubernetes() -> dict[str, Any]:
    """One schema of each kind, with the definitions that they share."""
    kinds, definitions = dict[str, Any](), dict[str, Any]()
    for api, group in KINDS.items():
        for kind, prefix in group.items():
            whole = getattr(models, prefix + kind).model_json_schema(by_alias=True)
            definitions |= {name: short(one) for name, one in whole.get("$defs", {}).items()}
            kinds[kind] = short(whole)
            kinds[kind]["properties"] |= {"apiVersion": {"const": api}, "kind": {"const": kind}}
            kinds[kind]["required"] = sorted({*kinds[kind].get("required", ()), "apiVersion", "kind", "metadata"})
    return {
        "$comment": f"made from the kubernetes client {version('kubernetes')}, Apache-2.0",
        "kinds": kinds,
        "$defs": dict(sorted(used(kinds, definitions, {}).items())),
    }


# What each schema is called here, its source, and the file of its licence.
VENDORED = {
    "compose": ("compose-spec", "compose-spec/compose-spec, Apache-2.0", "LICENSE.compose-spec"),
    "github_workflow": ("github-workflows", "SchemaStore/schemastore, Apache-2.0", "LICENSE.schemastore"),
    "gitlab_ci": ("gitlab-ci", "gitlab-org/gitlab, MIT", "LICENSE.gitlab"),
}
LICENCES = {"compose": "LICENSE", "github_workflow": "LICENSE.schemastore", "gitlab_ci": "LICENSE.gitlab"}
# Patterns that take exponential time on some texts, and equal ones that do not.
SLOW = {
    r"^(.+\/)+(.+)\.(ya?ml)(@.+)?$": r"^.+\/.+\.(ya?ml)(@.+)?$",
    "^\\$\\{\\{(.|[\r\n])*\\}\\}$": r"^\$\{\{[\s\S]*\}\}$",
    "^.*\\$\\{\\{(.|[\r\n])*\\}\\}.*$": r"\$\{\{[\s\S]*\}\}",
}
TEXTS = ("description", "markdownDescription")


def without_texts(node: Any) -> Any:
    """The schema without its descriptions and slow patterns; a property may be called description."""
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if key not in TEXTS or isinstance(value, dict)}
        return {key: without_texts(value) for key, value in kept.items()}
    if isinstance(node, list):
        return [without_texts(one) for one in node]
    return SLOW.get(node, node) if isinstance(node, str) else node


def main(arguments: list[str]) -> int:
    """Write the schemas and their licences."""
    (vendor,) = map(Path, arguments)
    TARGET.mkdir(exist_ok=True)
    schemas = {"kubernetes": kubernetes()}
    for name, (file, source, licence) in VENDORED.items():
        found = without_texts(json.loads((vendor / f"{file}.json").read_text()))
        schemas[name] = {**found, "$comment": f"{source}; descriptions left out"}
        (TARGET / LICENCES[name]).write_text((vendor / "licenses" / licence).read_text())
    for name, schema in schemas.items():
        text = json.dumps(schema, separators=(",", ":"), sort_keys=True)
        (TARGET / f"{name}.json").write_text(text.replace('},"', '},\n"') + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
