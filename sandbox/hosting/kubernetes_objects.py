"""What a release is in a cluster: a Deployment with one Pod and a Service, under a policy that lets nothing out."""

from __future__ import annotations

from typing import Any

from sandbox.hosting.base import Release

MANAGED, NAME, INSTALLATION = "app.kubernetes.io/managed-by", "app.kubernetes.io/name", "aiswe/installation"
CONTAINER = "app"
DEADLINE_SECONDS = 300  # without progress for so long, the cluster gives a rollout up


def labels(installation: str, name: str = "") -> dict[str, str]:
    """What tells our objects from all others."""
    return {MANAGED: "aiswe", INSTALLATION: installation} | ({NAME: name} if name else {})


def selector(installation: str, name: str = "") -> str:
    """The same as a query."""
    return ",".join(f"{key}={value}" for key, value in labels(installation, name).items())


def network_policy(installation: str) -> dict[str, Any]:
    """No connection goes out of a release, not even a DNS query: it could carry data, and no name is of use.

    One for all of them, made before the first and never removed: none ever runs without it.
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": f"aiswe-{installation}", "labels": labels(installation)},
        "spec": {"podSelector": {"matchLabels": labels(installation)}, "policyTypes": ["Egress"], "egress": []},
    }


def service(release: Release, installation: str) -> dict[str, Any]:
    """The name inside the cluster by which the API server's proxy finds the Pod."""
    own = labels(installation, release.name)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": release.name, "labels": own},
        "spec": {"selector": own, "ports": [{"name": "http", "port": release.port, "targetPort": release.port}]},
    }


def deployment(release: Release, installation: str) -> dict[str, Any]:
    """One Pod with one container, replaced rather than doubled: two releases, not two Pods, stand beside each other."""
    own = labels(installation, release.name)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": release.name, "labels": own},
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "progressDeadlineSeconds": DEADLINE_SECONDS,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": own},
            "template": {
                "metadata": {"labels": own},
                "spec": {
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "terminationGracePeriodSeconds": 10,
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "containers": [_container(release)],
                    "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": f"{release.limits.disk_mb}Mi"}}],
                },
            },
        },
    }


def _container(release: Release) -> dict[str, Any]:
    limits = release.limits
    cpu = max(1, int(limits.cpus * 1000))
    # Django and others answer only to host names that they know; the kubelet would send the address of the Pod.
    asked = {"path": release.health, "port": release.port, "httpHeaders": [{"name": "Host", "value": "localhost"}]}
    probe = {"httpGet": asked, "timeoutSeconds": 5}
    environment = {**release.environment, "PORT": str(release.port)}
    return {
        "name": CONTAINER,
        "image": release.image,
        # Kubernetes replaces $(NAME) in both; a doubled dollar sign stands for one.
        **({"command": [word.replace("$", "$$") for word in release.command]} if release.command else {}),
        "env": [{"name": key, "value": value.replace("$", "$$")} for key, value in environment.items()],
        "ports": [{"name": "http", "containerPort": release.port}],
        "resources": {
            "limits": {"cpu": f"{cpu}m", "memory": f"{limits.memory_mb}Mi", "ephemeral-storage": f"{limits.disk_mb}Mi"},
            "requests": {"cpu": f"{min(cpu, 50)}m"},  # what else is not asked for is as the limits say
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "readinessProbe": {**probe, "periodSeconds": 5, "failureThreshold": 3},
        "livenessProbe": {**probe, "periodSeconds": 10, "failureThreshold": 6, "initialDelaySeconds": 60},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - of the container
    }
