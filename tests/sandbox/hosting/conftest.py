"""A stand-in for a cluster, and a host on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.hosting.kubernetes import KubernetesHost
from tests.sandbox.hosting.authority import Authority
from tests.sandbox.hosting.kubernetes_api import KubernetesApi
from tests.sandbox.hosting.kubernetes_cluster import TOKEN, made, write_config


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def api(authority: Authority) -> Iterator[KubernetesApi]:
    served = KubernetesApi(authority.signed("server")[0], TOKEN)
    yield served
    served.close()


@pytest.fixture
def config(tmp_path: Path, api: KubernetesApi, authority: Authority) -> Path:
    return write_config(tmp_path / "config", api.url, authority.ca)


@pytest.fixture
def host(config: Path, tmp_path: Path) -> KubernetesHost:
    return made(config, tmp_path)
