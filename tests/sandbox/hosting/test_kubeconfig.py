"""Kubeconfig files: the forms that are understood, and those that are refused with a reason."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.hosting import kubeconfig
from sandbox.hosting.base import HostingError
from sandbox.hosting.kubernetes import KubernetesHost
from tests.sandbox.hosting.authority import Authority
from tests.sandbox.hosting.kubernetes_api import KubernetesApi
from tests.tables import each_row

SERVER = "https://cluster.example:6443"


def written(
    folder: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **more: Any
) -> Path:
    told = {
        "current-context": "staging",
        "contexts": [
            {"name": "other", "context": {"cluster": "none", "user": "u"}},
            {"name": "staging", "context": {"cluster": "c", "user": "u"}},
        ],
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "abc"} if user is None else user}],
        **more,
    }
    file = folder / "config"
    file.write_text(yaml.safe_dump(told))
    return file


def test_a_token_may_stand_in_the_file_or_beside_it(tmp_path: Path) -> None:
    assert kubeconfig.read(written(tmp_path), tmp_path).headers == {"Authorization": "Bearer abc"}
    (tmp_path / "secret").write_text("from a file\n".replace(" ", "-"))
    found = kubeconfig.read(written(tmp_path, user={"tokenFile": "secret"}), tmp_path)
    assert found.headers == {"Authorization": "Bearer from-a-file"}
    assert (found.url, found.ca, found.certificate) == (SERVER, "", "")


@pytest.mark.parametrize("inline", [True, False])
def test_certificates_may_stand_in_the_file_or_beside_it(tmp_path: Path, inline: bool) -> None:
    authority = Authority(tmp_path / "authority")
    pem, key = authority.signed("admin")
    api = KubernetesApi(authority.signed("server")[0], "unused", client_ca=authority.ca)
    names = {"certificate-authority": authority.ca, "client-certificate": pem, "client-key": key}
    if inline:
        told = {f"{name}-data": base64.b64encode(path.read_bytes()).decode() for name, path in names.items()}
    else:
        told = {name: str(path.relative_to(tmp_path)) for name, path in names.items()}
    cluster = {name: value for name, value in told.items() if "authority" in name} | {"server": api.url}
    user = {name: value for name, value in told.items() if "client" in name}
    file = written(tmp_path, cluster, user)
    try:
        host = KubernetesHost("staging", installation="ours", folder=tmp_path / "kept", kubeconfig=str(file))
        assert host.problem() == ""
        assert host.names() == []
    finally:
        api.close()


def test_a_context_can_be_named(tmp_path: Path) -> None:
    file = written(tmp_path, **{"current-context": ""})
    assert kubeconfig.read(file, tmp_path, "staging").url == SERVER
    with pytest.raises(HostingError, match="no current-context; name the context"):
        kubeconfig.read(file, tmp_path)
    with pytest.raises(HostingError, match='no context "prod"'):
        kubeconfig.read(file, tmp_path, "prod")
    with pytest.raises(HostingError, match='no cluster "none"'):
        kubeconfig.read(file, tmp_path, "other")


@each_row(
    ("cluster", "user", "words"),
    [
        ({}, {"exec": {"command": "touch"}}, '"exec", which runs a program to sign in'),
        ({}, {"auth-provider": {"name": "gcp"}}, '"auth-provider", which runs a program'),
        ({}, {"username": "admin", "password": "x"}, "signs in by password"),
        ({}, {"token": "abc", "as": "root"}, "acts as somebody else"),
        ({"insecure-skip-tls-verify": True}, None, "trusts any server"),
        ({"proxy-url": "http://proxy"}, None, "proxy, which is not supported"),
        ({"tls-server-name": "x"}, None, "another name, which is not supported"),
        ({"server": "http://cluster.example"}, None, "not encrypted"),
        ({"server": "http://127.0.0.1:8001"}, None, "not encrypted"),
        ({"server": "ftp://cluster.example"}, None, "not an https address"),
        ({"server": ""}, None, "not an https address"),
        ({"server": "https://[::1"}, None, "not an https address"),
        ({"server": "https://user:secret@cluster.example"}, None, "not an https address"),
        ({}, {"token": ""}, "neither a token nor a client certificate"),
        ({}, {"token": "two\nlines"}, "the token is not one line of text"),
        ({}, {"tokenFile": "missing"}, "cannot be read"),
        ({"certificate-authority-data": "%%%"}, None, "certificate-authority-data is not base64"),
        ({"certificate-authority": "missing.crt"}, None, "cannot be read"),
    ],
)
def test_what_would_run_programs_or_trust_anybody_is_refused(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any] | None, words: str
) -> None:
    file = written(tmp_path, cluster, user)
    with pytest.raises(HostingError) as raised:
        kubeconfig.read(file, tmp_path / "kept")
    assert words in str(raised.value)


def test_kubectl_proxy_on_this_machine_needs_no_token(tmp_path: Path) -> None:
    file = written(tmp_path, {"server": "http://127.0.0.1:8001"}, {"token": ""})
    assert kubeconfig.read(file, tmp_path).headers == {}


@each_row("text", ["", "[]", "a: [", "\x00", "contexts: 5\ncurrent-context: x", "x" * 1_000_001])
def test_what_is_not_a_kubeconfig_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(HostingError, match="config"):
        kubeconfig.read(file, tmp_path)
    host = KubernetesHost("staging", installation="ours", folder=tmp_path, kubeconfig=str(file))
    assert str(file) in host.problem()


def test_a_server_that_is_not_an_address_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, {"server": "https://cluster:port"})
    host = KubernetesHost("1-team", installation="ours", folder=tmp_path, kubeconfig=str(file))
    assert host.problem() == "the server of the kubeconfig is not an address"


def test_a_certificate_that_is_none_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, {"certificate-authority-data": base64.b64encode(b"nonsense").decode()})
    host = KubernetesHost("staging", installation="ours", folder=tmp_path / "kept", kubeconfig=str(file))
    assert "a certificate of the kubeconfig cannot be used" in host.problem()


def test_in_a_cluster_the_account_of_the_pod_is_used_and_its_renewed_token_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(HostingError, match="not a Pod with a service account"):
        kubeconfig.in_cluster(tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    for token in ("first", "second"):
        (tmp_path / "token").write_text(token)
        found = kubeconfig.in_cluster(tmp_path)
        assert (found.url, found.headers) == ("https://[fd00::1]:6443", {"Authorization": f"Bearer {token}"})
    assert found.ca == str(tmp_path / "ca.crt")
