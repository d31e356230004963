"""What tests of releases in a cluster share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from sandbox.hosting.base import Release
from sandbox.hosting.kubernetes import KubernetesHost
from tests.sandbox.hosting.kubernetes_api import KubernetesApi

TOKEN = "ey.sesame"
FIRST = Release(
    "app-1-1", Path("/nowhere"), (), {"MODE": "costs $(PORT) $5"}, image="registry.example/shop:1", health="/up"
)
SECOND = replace(FIRST, name="app-1-2", image="registry.example/shop:2")


def write_config(file: Path, url: str, ca: Path, token: str = TOKEN) -> Path:
    file.write_text(
        yaml.safe_dump(
            {
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": str(ca)}}],
                "users": [{"name": "u", "user": {"token": token}}],
            }
        )
    )
    return file


def made(config: Path, tmp_path: Path, namespace: str = "staging", installation: str = "ours") -> KubernetesHost:
    return KubernetesHost(namespace, installation=installation, folder=tmp_path / "kept", kubeconfig=str(config))


def up(host: KubernetesHost, release: Release) -> None:
    host.start(release)
    for _ in range(2):
        host.look(release.name)
    assert host.look(release.name).ready


def log_of(api: KubernetesApi, name: str = FIRST.name) -> list[tuple[int, bytes]]:
    return api.pods_of(name)[-1].containers[-1].log
