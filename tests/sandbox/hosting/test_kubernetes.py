"""Releases in a namespace of a cluster, against a stand-in for its API."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from agents.checks.check import check_files
from sandbox.base import SandboxLimits
from sandbox.hosting import kubernetes_api as product_api
from sandbox.hosting import kubernetes_objects as objects
from sandbox.hosting.base import HostingError
from sandbox.hosting.kubernetes import NEEDED, KubernetesHost
from tests.sandbox.hosting.authority import Authority
from tests.sandbox.hosting.kubernetes_api import KubernetesApi
from tests.sandbox.hosting.kubernetes_cluster import FIRST, SECOND, TOKEN, log_of, made, up, write_config
from tests.sandbox.hosting.kubernetes_script import Script

GUIDE = Path(__file__).parents[3] / "docs/how-to/deploy-kubernetes.md"


def role() -> list[dict[str, Any]]:
    """The rules of the Role that the guide tells people to make."""
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    told = [one for block in blocks for one in yaml.safe_load_all(block)]
    return next(one["rules"] for one in told if one["kind"] == "Role")


# Rolling out.


def test_a_release_is_not_ready_until_its_pod_is(host: KubernetesHost, api: KubernetesApi) -> None:
    api.scripts[FIRST.image] = Script(ready_after=2)
    assert host.problem() == ""
    host.start(FIRST)
    states = [(seen.state, seen.ready) for seen in (host.look(FIRST.name) for _ in range(3))]
    assert states == [("running", False), ("running", False), ("running", True)]
    assert host.names() == [FIRST.name]


def test_what_is_asked_for_is_restricted_limited_and_probed(host: KubernetesHost, api: KubernetesApi) -> None:
    host.start(replace(FIRST, command=("serve", "$HOME $(X)"), limits=SandboxLimits(cpus=0.5, memory_mb=256)))
    pod = api.objects["deployments", FIRST.name]["spec"]["template"]["spec"]
    box = pod["containers"][0]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert box["securityContext"]["readOnlyRootFilesystem"] is True
    assert box["resources"]["limits"] == {"cpu": "500m", "memory": "256Mi", "ephemeral-storage": "512Mi"}
    assert box["readinessProbe"]["httpGet"]["path"] == box["livenessProbe"]["httpGet"]["path"] == "/up"
    assert box["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert box["command"] == ["serve", "$$HOME $$(X)"], "Kubernetes turns $$ into $, and would replace $(X)"
    assert {"name": "MODE", "value": "costs $$(PORT) $$5"} in box["env"]
    assert {"name": "PORT", "value": "8000"} in box["env"]


def test_what_is_asked_for_passes_the_checks_that_manifests_of_a_task_have_to_pass() -> None:
    made = [objects.network_policy("ours"), objects.deployment(FIRST, "ours"), objects.service(FIRST, "ours")]
    for text in (yaml.safe_dump_all(made), GUIDE.read_text().split("```yaml\n")[1].split("```")[0]):
        assert check_files({"k8s/app.yaml": text}, {}, ["k8s/app.yaml"], {"k8s/app.yaml": text}.get) == []


def test_no_release_runs_before_its_connections_are_cut_off(host: KubernetesHost, api: KubernetesApi) -> None:
    host.start(FIRST)
    made = [path.rpartition("/")[2] for method, path in api.seen if method == "POST"]
    assert made == ["networkpolicies", "deployments", "services"]
    policy = api.objects["networkpolicies", "aiswe-ours"]["spec"]
    labels = api.objects["deployments", FIRST.name]["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert (policy["policyTypes"], policy["egress"]) == (["Egress"], [])
    host.stop(FIRST.name)
    assert ("networkpolicies", "aiswe-ours") in api.objects, "its Pod may take a while to end"


def test_starting_what_is_there_changes_it_to_what_is_asked_for(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    api.objects["networkpolicies", "aiswe-ours"]["spec"]["egress"] = [{}]  # somebody opened it
    host.start(FIRST)
    assert host.look(FIRST.name).ready, "nothing differs, so its Pod goes on"
    assert api.objects["networkpolicies", "aiswe-ours"]["spec"]["egress"] == []
    host.start(replace(FIRST, port=9000, environment={}))
    deployment = api.objects["deployments", FIRST.name]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "PORT", "value": "9000"}]
    assert deployment["metadata"]["generation"] == 2
    assert api.objects["services", FIRST.name]["spec"]["ports"][0]["port"] == 9000


def test_a_second_release_stands_beside_the_first_and_a_rollback_starts_the_first_again(
    host: KubernetesHost, api: KubernetesApi
) -> None:
    up(host, FIRST)
    api.scripts[SECOND.image] = Script(never_ready=True)
    host.start(SECOND)
    host.look(SECOND.name)
    assert host.names() == [FIRST.name, SECOND.name]
    assert host.look(FIRST.name).ready
    assert not host.look(SECOND.name).ready
    host.stop(SECOND.name)
    assert host.names() == [FIRST.name]
    api.scripts[SECOND.image] = Script()
    up(host, SECOND)
    host.stop(FIRST.name)
    up(host, FIRST)
    host.stop(SECOND.name)
    assert host.names() == [FIRST.name]
    assert (host.look(FIRST.name).ready, host.look(SECOND.name).state) == (True, "gone")


def test_requests_go_through_the_api_server_to_the_release_that_is_ready(
    host: KubernetesHost, api: KubernetesApi
) -> None:
    host.start(FIRST)
    address = host.address(FIRST.name)
    assert TOKEN not in repr(address), "an address may be printed"
    with httpx.Client(verify=address.tls(), headers=dict(address.headers), trust_env=False) as client:
        assert client.get(address.to("/")).status_code == 503
        up(host, FIRST)
        page = client.get(address.to("/start?page=2")).text
        assert "hello from app-1-1" in page
        link = page.split('"')[1]
        assert link.startswith("/api/v1/"), "the API server changes links"
        client.get(address.to(link))
    assert [path for path, _ in api.proxied] == ["/start?page=2", "/items?"]
    with pytest.raises(HostingError, match="app-1-2 is not in namespace staging"):
        host.address(SECOND.name)


# What does not come up.


def test_a_release_whose_health_check_fails_runs_and_is_not_ready(host: KubernetesHost, api: KubernetesApi) -> None:
    api.scripts[FIRST.image] = Script(never_ready=True, late=True)
    host.start(FIRST)
    for _ in range(5):
        seen = host.look(FIRST.name)
    assert (seen.state, seen.ready, seen.stuck) == ("running", False, True)
    assert "health check does not succeed" in seen.detail


def test_a_crash_loop_tells_exit_code_restarts_and_output(host: KubernetesHost, api: KubernetesApi) -> None:
    api.scripts[FIRST.image] = Script(exit_code=3)
    host.start(FIRST)
    host.look(FIRST.name)
    log_of(api)[:] = [(10**18, b"no database\n"), (10**18 + 5, b"dying, no newline")]
    seen = host.look(FIRST.name)
    assert (seen.state, seen.ready, seen.restarts, seen.exit_code) == ("exited", False, 0, 3)
    assert seen.detail == "it ended with exit code 3; the cluster starts it again after a pause"
    assert host.logs(FIRST.name).text == "no database\ndying, no newline\n"
    for _ in range(2):
        seen = host.look(FIRST.name)
    assert (seen.state, seen.ready, seen.exit_code) == ("running", False, 3)
    assert seen.detail.endswith("before, it ended with exit code 3")
    assert seen.restarts == 2


def test_one_that_uses_too_much_memory_is_said_to(host: KubernetesHost, api: KubernetesApi) -> None:
    api.scripts[FIRST.image] = Script(exit_code=137, reason="OOMKilled")
    host.start(FIRST)
    host.look(FIRST.name)
    seen = host.look(FIRST.name)
    assert seen.detail.startswith("it was killed because it used more memory than its limit")
    assert seen.exit_code == 137


@pytest.mark.parametrize(
    ("script", "words", "stuck"),
    [
        (
            Script(waiting="ImagePullBackOff", message="manifest unknown"),
            "the image registry.example/shop:1 cannot be pulled: manifest unknown",
            True,
        ),
        (
            Script(
                waiting="CreateContainerConfigError", message="container has runAsNonRoot, image has non-numeric user"
            ),
            "numeric USER",
            True,
        ),
        (Script(waiting="InvalidImageName", message="invalid reference"), "is not the name of an image", True),
        (Script(waiting="ContainerCreating"), "not up yet (ContainerCreating)", False),
        (Script(waiting="ErrImagePull", message="timeout"), "ErrImagePull) timeout", False),
        (Script(no_pod="exceeded quota: pods"), "no Pod can be made: exceeded quota", False),
        (Script(no_pod="exceeded quota: pods", late=True), "no Pod can be made: exceeded quota", True),
        (Script(unschedulable="0/1 nodes: Insufficient memory"), "no node of the cluster takes it: 0/1", False),
    ],
)
def test_a_release_that_does_not_start_says_why(
    host: KubernetesHost, api: KubernetesApi, script: Script, words: str, stuck: bool
) -> None:
    api.scripts[FIRST.image] = script
    host.start(FIRST)
    seen = host.look(FIRST.name)
    assert (seen.state, seen.ready, seen.stuck) == ("starting", False, stuck)
    assert words in seen.detail
    assert host.logs(FIRST.name).text == ""


# Restarts and output.


def test_after_a_restart_the_pod_of_before_does_not_count(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    host.restart(FIRST.name)
    seen = host.look(FIRST.name)
    assert (seen.state, seen.ready) == ("running", False)
    up(host, FIRST)
    assert api.objects["deployments", FIRST.name]["metadata"]["generation"] == 2
    host.restart(FIRST.name)
    api.objects["deployments", FIRST.name]["status"]["observedGeneration"] = 2  # the controller has not seen it yet
    assert host.look(FIRST.name).state == "starting"
    api.objects["deployments", FIRST.name]["status"] = {"observedGeneration": 3, "updatedReplicas": 0}
    assert host.look(FIRST.name).state == "starting", "it has seen it, and has not made the new Pod"


# Whose things these are.


@pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/managed-by": "aiswe", "aiswe/installation": "theirs"}])
def test_what_others_made_is_left_alone(
    host: KubernetesHost, api: KubernetesApi, config: Path, tmp_path: Path, labels: dict[str, str]
) -> None:
    made(config, tmp_path, installation="theirs").start(FIRST)
    theirs = api.objects["deployments", FIRST.name]
    theirs["metadata"]["labels"] = labels
    api.objects["services", FIRST.name]["metadata"]["labels"] = labels
    before = json.dumps(theirs)
    calls = (host.look, host.logs, host.restart, host.stop, host.address)
    for call in calls:
        with pytest.raises(HostingError, match="was not made by this installation"):
            call(FIRST.name)
    with pytest.raises(HostingError, match="was not made by this installation"):
        host.start(FIRST)
    assert json.dumps(api.objects["deployments", FIRST.name]) == before
    assert ("services", FIRST.name) in api.objects
    assert host.names() == []


def test_a_deletion_is_bound_to_the_object_that_was_looked_at(
    host: KubernetesHost, api: KubernetesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.start(FIRST)
    ours = host._ours

    def then_somebody_replaces_it(*asked: Any) -> Any:
        found = json.loads(json.dumps(ours(*asked)))
        api.objects["services", FIRST.name]["metadata"]["uid"] = "another"
        return found

    monkeypatch.setattr(host, "_ours", then_somebody_replaces_it)
    with pytest.raises(HostingError, match="changed it at the same time; try again"):
        host.stop(FIRST.name)
    assert ("services", FIRST.name) in api.objects


def test_stopping_twice_is_fine_and_names_come_from_all_pages(host: KubernetesHost, api: KubernetesApi) -> None:
    for n in range(103):
        api.objects["deployments", f"app-{n:03}"] = {
            "metadata": {
                "name": f"app-{n:03}",
                "labels": {"app.kubernetes.io/managed-by": "aiswe", "aiswe/installation": "ours"},
            }
        }
    assert len(host.names()) == 103
    host.start(FIRST)
    host.stop(FIRST.name)
    host.stop(FIRST.name)
    assert len(host.names()) == 103


# Rights, and a cluster that is not as it should be.


def test_the_role_of_the_guide_is_enough_and_each_of_its_rights_is_needed(
    host: KubernetesHost, api: KubernetesApi
) -> None:
    api.rules = role()
    assert host.problem() == ""
    up(host, FIRST)
    host.start(FIRST)
    host.restart(FIRST.name)
    host.logs(FIRST.name)
    host.stop(FIRST.name)
    assert host.names() == []
    needed = {(group, kind): set[str]() for group, kind, _ in NEEDED}
    for group, kind, verb in NEEDED:
        needed[group, kind].add(verb)
    told = {
        (group, kind): set(rule["verbs"])
        for rule in role()
        for group in rule["apiGroups"]
        for kind in rule["resources"]
    }
    assert {pair: verbs for pair, verbs in told.items() if pair != ("", "namespaces")} == needed


def test_rights_that_are_missing_are_named(host: KubernetesHost, api: KubernetesApi) -> None:
    api.rules = [rule for rule in role() if "services/proxy" not in rule["resources"]]
    assert "get services/proxy, create services/proxy" in host.problem()
    assert "deploy-kubernetes.md" in host.problem()
    api.rules = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]
    with pytest.raises(HostingError, match=r"may not do this; give it the Role of .* cannot create"):
        host.start(FIRST)


def test_a_namespace_that_is_not_there_is_named(config: Path, tmp_path: Path, api: KubernetesApi) -> None:
    other = made(config, tmp_path, namespace="elsewhere")
    assert "elsewhere" in other.problem()
    with pytest.raises(HostingError, match="elsewhere"):
        other.start(FIRST)
    for name in ("kube-system", "Staging", "a/b", "../x", ""):
        with pytest.raises(HostingError, match="name"):
            made(config, tmp_path, namespace=name)


def test_a_token_that_expired_is_named_and_a_new_one_counts_at_once(
    host: KubernetesHost, api: KubernetesApi, config: Path, authority: Authority
) -> None:
    api.token = "ey.renewed"
    with pytest.raises(HostingError, match="does not accept the token"):
        host.start(FIRST)
    assert "expired" in host.problem()
    write_config(config, api.url, authority.ca, token="ey.renewed")
    assert host.problem() == ""


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("page", "not a Kubernetes API"),
        ("shape", "not a Kubernetes API"),
        ("deep", "not a Kubernetes API"),
        ("redirect", "not a Kubernetes API"),
        ("endless", "too large"),
        ("502", "HTTP 502; try again later"),
        ("slow", "does not answer in time"),
    ],
)
def test_a_server_that_answers_nonsense_or_nothing_gives_one_sentence(
    host: KubernetesHost, api: KubernetesApi, fault: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    up(host, FIRST)
    monkeypatch.setattr(product_api, "PATIENCE", httpx.Timeout(0.5 if fault == "slow" else 60))
    monkeypatch.setattr(product_api, "MOST_BYTES", 500_000)
    api.fault = fault
    assert words in host.problem()
    for call in (host.look, host.logs, host.stop):
        with pytest.raises(HostingError, match=words) as raised:
            call(FIRST.name)
        assert TOKEN not in str(raised.value)


def test_a_cluster_that_is_away_or_another_is_told(
    host: KubernetesHost, api: KubernetesApi, config: Path, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "stranger")
    write_config(config, api.url, stranger.ca)
    assert "not of the certificate-authority that the kubeconfig names" in host.problem()
    write_config(config, "https://127.0.0.1:1", stranger.ca)
    assert "127.0.0.1:1 does not answer" in host.problem()
    assert api.seen == [], "nobody gets the token before it has proven who it is"


def test_what_the_cluster_finds_wrong_is_told(host: KubernetesHost) -> None:
    with pytest.raises(HostingError, match=r"does not accept it; .*env\[0\].name: Invalid value: 'A=B'"):
        host.start(replace(FIRST, environment={"A=B": "x"}))
    with pytest.raises(HostingError, match="build and push one"):
        host.start(replace(FIRST, image=""))
    with pytest.raises(HostingError, match="cannot be the name of a Service"):
        host.start(replace(FIRST, name="1-shop"))


def test_certificates_of_the_kubeconfig_are_kept_for_our_eyes_only(
    tmp_path: Path, config: Path, authority: Authority, host: KubernetesHost
) -> None:
    host.start(FIRST)
    kept = list((tmp_path / "kept").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in kept] == [0o600]
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
