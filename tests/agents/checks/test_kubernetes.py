"""Manifests fit the schema of their kind and each other; compose files fit the compose specification."""

import pytest

from agents.checks.check import check_files
from tests.tables import each_row

GOOD = """apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web, tier: front}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1000}
      containers:
        - name: web
          image: registry.test/shop:1.4
          ports: [{name: http, containerPort: 8000}]
          resources:
            limits: {cpu: 1, memory: 256Mi}
          securityContext:
            allowPrivilegeEscalation: false
          readinessProbe: {httpGet: {path: /health, port: http}}
          livenessProbe: {httpGet: {path: /health, port: 8000}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress]
"""
COMPOSE = """services:
  web:
    build: .
    ports: ["8000:8000"]
    depends_on: {db: {condition: service_healthy}}
    deploy: {resources: {limits: {memory: 256M}}}
  db:
    image: postgres:16
    healthcheck: {test: [CMD, pg_isready], interval: 5s}
"""


def found(text: str, path: str = "k8s/app.yaml", **others: str) -> list[tuple[int, str]]:
    there = {**others, path: text}
    return [(one.line, one.text) for one in check_files({path: text}, {}, there, there.get)]


def test_good_manifests_have_no_findings() -> None:
    assert found(GOOD) == []


@each_row(
    ("old", "new", "line", "why"),
    [
        ("replicas: 2", "replicas: two", 11, "$.spec.replicas: 'two' is not of type 'integer'"),
        ("replicas: 2", "replica: 2", 11, "'replica' was unexpected"),
        ("apiVersion: apps/v1", "apiVersion: extensions/v1beta1", 5, "'apps/v1' was expected"),
        ("        - name: web\n          image", "        - image", 19, "'name' is a required property"),
        ("containerPort: 8000", "containerPort: 8000, hostIp: a", 22, "'hostIp' was unexpected"),
        ("{app: web, tier: front}", "{app: web, tier: 1}", 16, "1 is not of type 'string'"),
        (
            "matchLabels: {app: web}\n  template",
            "matchLabels: {app: shop}\n  template",
            13,
            "does not match the labels",
        ),
        ("shop:1.4", "shop", 21, "registry.test/shop has no fixed version"),
        ("shop:1.4", "shop:latest", 21, "has no fixed version"),
        ("{cpu: 1, memory: 256Mi}", "{memory: 256Mi}", 21, "has no limits"),
        ("runAsNonRoot: true, ", "", 21, "may run as root"),
        ("allowPrivilegeEscalation: false", "privileged: true", 26, "is privileged"),
        ("allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true", 21, "may gain rights"),
        ("          readinessProbe: {httpGet: {path: /health, port: http}}\n", "", 21, "no readinessProbe"),
        ("      containers:", "      hostNetwork: true\n      containers:", 19, "shares the machine's own"),
        ("targetPort: http", "targetPort: web", 35, "no container of its pods has the port web"),
        ("selector: {app: web}\n  ports", "selector: {app: shop}\n  ports", 34, "matches no pod of this folder"),
        ("kind: NetworkPolicy", "kind: Other", 6, "no NetworkPolicy stands beside it"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_found_at_its_line(old: str, new: str, line: int, why: str) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    ((at, said),) = found(text)
    assert (at, why in said) == (line, True), (at, said)


def test_objects_of_one_folder_belong_together() -> None:
    workload, service, policy = GOOD.split("---\n")[1:]
    others = {"k8s/web.yaml": workload, "k8s/policy.yaml": policy}
    assert found(service, "k8s/service.yaml", **others) == []
    assert found(workload, "k8s/web.yaml", **{"k8s/policy.yaml": policy}) == []
    assert len(found(workload, "k8s/web.yaml", **{"other/policy.yaml": policy})) == 1


def test_a_kustomization_lists_what_is_there() -> None:
    text = "resources:\n  - app.yaml\n  - gone.yaml\n  - https://x.test/y\nconfigMapGenerator:\n  - files: [a=a.txt]\n"
    said = found(text, "k8s/kustomization.yaml", **{"k8s/app.yaml": GOOD})
    assert [line for line, _ in said] == [3, 6]
    assert "gone.yaml, which is not in the repository" in said[0][1]


def test_a_kind_without_a_schema_and_nested_aliases_are_left_alone() -> None:
    assert found("apiVersion: example.test/v1\nkind: Widget\nspec: {size: 3}\n") == []
    rows = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12))]
    assert found("\n".join(["apiVersion: v1", "kind: Pod", *rows])) == []


def test_a_good_compose_file_has_no_findings() -> None:
    assert found(COMPOSE, "compose.yaml") == []


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("    ports:", "    port:", 4, "'port' was unexpected"),
        ("condition: service_healthy", "condition: healthy", 5, "'healthy' is not one of"),
        ("{test: [CMD, pg_isready], interval: 5s}", "yes", 9, "is not of type 'object'"),
    ],
)
def test_what_does_not_fit_the_compose_specification_is_found(old: str, new: str, line: int, why: str) -> None:
    text = COMPOSE.replace(old, new, 1)
    said = found(text, "compose.yaml")
    assert any(at == line and why in one for at, one in said), said
