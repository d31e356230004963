"""A stand-in for a Kubernetes API: the documented routes that the product uses, over TLS, with objects in memory.

It checks what the real one checks of these objects, answers errors with the same Status objects, and plays the
controllers and the kubelet by a script for each image, one step at each look. It is not a cluster: nothing runs.
"""

from __future__ import annotations

import copy
import json
import re
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.sandbox.hosting.kubernetes_checks import Refused, check
from tests.sandbox.hosting.kubernetes_script import Container, Pod, Script

Json = dict[str, Any]
ROUTE = re.compile(
    r"/(?P<group>api/v1|apis/apps/v1|apis/networking\.k8s\.io/v1)/namespaces/(?P<namespace>[^/]+)"
    r"/(?P<kind>deployments|services|networkpolicies|pods)(?:/(?P<name>[^/]+))?(?:/(?P<sub>log|proxy)(?P<rest>/.*)?)?"
)
GROUPS = {"deployments": "apps", "networkpolicies": "networking.k8s.io", "services": "", "pods": ""}
VERBS = {"POST": "create", "GET": "get", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}
RESTARTED = "kubectl.kubernetes.io/restartedAt"


def _answer(asked: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json") -> None:
    asked.send_response(status)
    asked.send_header("Content-Type", kind)
    asked.send_header("Content-Length", str(len(body)))
    asked.end_headers()
    asked.wfile.write(body)


class KubernetesApi:
    """Serves one namespace. `rules` are those of a Role; without them the token may do everything there."""

    def __init__(self, pem: Path, token: str, namespace: str = "staging", client_ca: Path | None = None) -> None:
        self.token, self.namespace, self.rules = token, namespace, list[Json]()
        self.scripts, self.pods, self.objects = dict[str, Script](), list[Pod](), dict[tuple[str, str], Json]()
        self.seen, self.fault, self.ended = list[tuple[str, str]](), "", threading.Event()
        self.proxied: list[tuple[str, dict[str, str]]] = []
        self._numbers, self._lock = iter(range(1, 10**6)), threading.RLock()
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing on the console."""

            def do_GET(self) -> None:
                api.answer(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are tests
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
        self._http.socket = context.wrap_socket(
            self._http.socket, server_side=True, do_handshake_on_connect=False
        )  # in the thread of the connection, or one bad handshake ends the server
        self.url = f"https://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stop it, and let go of whom it kept waiting."""
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()

    # Answers.

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        """One answer, an error as a Status object."""
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        self.seen.append((asked.command, asked.path))
        if self.fault == "slow":
            self.ended.wait(60)
            return
        if self.fault:
            return self._faulty(asked)
        try:
            with self._lock:
                raw = self._do(asked, body)
        except Refused as refused:
            return _answer(asked, refused.status, json.dumps(refused.told()).encode())
        if isinstance(raw, bytes):
            return _answer(asked, 200, raw, "text/html" if raw.startswith(b"<a") else "text/plain")
        return _answer(asked, 201 if asked.command == "POST" else 200, json.dumps(raw).encode())

    def _faulty(self, asked: BaseHTTPRequestHandler) -> None:
        if self.fault == "page":
            return _answer(asked, 200, b"<!doctype html><title>Welcome</title>", "text/html")
        if self.fault == "shape":
            return _answer(asked, 200, b'{"items": 5, "metadata": [], "status": "fine"}')
        if self.fault == "deep":
            return _answer(asked, 200, b'{"a":' * 100_000)
        if self.fault == "endless":
            asked.send_response(200)
            asked.end_headers()
            while not self.ended.is_set():
                asked.wfile.write(b" " * 65536)
            return None
        if self.fault == "redirect":
            asked.send_response(302)
            asked.send_header("Location", "https://127.0.0.1:1/")
            asked.send_header("Content-Length", "0")
            return asked.end_headers()
        status = int(self.fault)
        return _answer(asked, status, b"upstream is away", "text/plain")

    def _do(self, asked: BaseHTTPRequestHandler, raw: bytes) -> Json | bytes:
        parts = urlsplit(asked.path)
        given = {key: values[0] for key, values in parse_qs(parts.query).items()}
        certified = isinstance(asked.connection, ssl.SSLSocket) and bool(asked.connection.getpeercert())
        if asked.headers.get("Authorization") != f"Bearer {self.token}" and not certified:
            raise Refused(401, "Unauthorized", "Unauthorized")
        body: Json = json.loads(raw) if raw and "/proxy" not in parts.path else {}
        if parts.path == "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":
            rules = self.rules or [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
            inside = rules if body["spec"]["namespace"] == self.namespace else []
            return {**body, "status": {"resourceRules": inside, "nonResourceRules": [], "incomplete": False}}
        if parts.path.startswith("/api/v1/namespaces/") and parts.path.count("/") == 4:
            return self._see_namespace(parts.path.rpartition("/")[2])
        found = ROUTE.fullmatch(parts.path)
        if found is None:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        self._authorize(asked.command, found)
        if found["group"].partition("/")[2].removesuffix("/v1").removeprefix("v1") != GROUPS[found["kind"]]:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        if found["sub"] == "proxy":
            return self._proxy(asked, found, parts.query)
        if found["sub"] == "log":
            return self._log(found["name"], given)
        if asked.command == "POST":
            return self._create(found["kind"], found["namespace"], body)
        if found["name"] is None:
            return self._list(found["kind"], given)
        if asked.command == "PATCH" and asked.headers["Content-Type"] != "application/merge-patch+json":
            raise Refused(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
        one = self._get(found["kind"], found["name"])
        if asked.command == "PATCH":
            return self._patch(found["kind"], one, body)
        return self._delete(found["kind"], one, body) if asked.command == "DELETE" else one

    def _may(self, verb: str, group: str, kind: str, name: str = "") -> bool:
        return not self.rules or any(
            group in rule["apiGroups"]
            and kind in rule["resources"]
            and verb in rule["verbs"]
            and (not rule.get("resourceNames") or name in rule["resourceNames"])
            for rule in self.rules
        )

    def _authorize(self, method: str, found: re.Match[str]) -> None:
        verb = "list" if method == "GET" and not found["name"] else VERBS[method]
        kind = found["kind"] + (f"/{found['sub']}" if found["sub"] else "")
        if found["namespace"] == self.namespace and self._may(verb, GROUPS[found["kind"]], kind):
            return
        raise Refused(
            403,
            "Forbidden",
            f'{kind} is forbidden: User "system:serviceaccount:x:aiswe" cannot {verb} resource "{kind}" in API group '
            f'"{GROUPS[found["kind"]]}" in the namespace "{found["namespace"]}"',
        )

    def _see_namespace(self, name: str) -> Json:
        if not self._may("get", "", "namespaces", name):
            raise Refused(403, "Forbidden", f'namespaces "{name}" is forbidden')
        if name != self.namespace:
            raise Refused(404, "NotFound", f'namespaces "{name}" not found')
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}}

    # Objects.

    def _get(self, kind: str, name: str) -> Json:
        if (kind, name) not in self.objects:
            raise Refused(404, "NotFound", f'{kind} "{name}" not found')
        return self.objects[kind, name]

    def _create(self, kind: str, namespace: str, body: Json) -> Json:
        check(kind, namespace, body)
        name = body["metadata"]["name"]
        if (kind, name) in self.objects:
            raise Refused(409, "AlreadyExists", f'{kind} "{name}" already exists')
        made = copy.deepcopy(body)
        number = next(self._numbers)
        made["metadata"] |= {"uid": f"uid-{number}", "generation": 1, "namespace": namespace}
        self.objects[kind, name] = made
        if kind == "deployments":
            self._roll_out(made)
        return made

    def _patch(self, kind: str, one: Json, body: Json) -> Json:
        if body.get("metadata", {}).get("uid", one["metadata"]["uid"]) != one["metadata"]["uid"]:
            raise Refused(422, "Invalid", "metadata.uid: Invalid value: field is immutable")
        merged = _merged(one, body)
        check(kind, self.namespace, merged)
        if kind == "deployments" and merged["spec"]["selector"] != one["spec"]["selector"]:
            raise Refused(422, "Invalid", "spec.selector: Invalid value: field is immutable")
        before = copy.deepcopy(one)
        one.clear()
        one.update(merged)
        if before["spec"] != one["spec"]:
            one["metadata"]["generation"] += 1
            if kind == "deployments" and before["spec"]["template"] != one["spec"]["template"]:
                self._roll_out(one)
        return one

    def _delete(self, kind: str, one: Json, options: Json) -> Json:
        wanted = options.get("preconditions", {}).get("uid", one["metadata"]["uid"])
        if wanted != one["metadata"]["uid"]:
            raise Refused(409, "Conflict", "Precondition failed: UID in precondition differs from UID in object meta")
        name = one["metadata"]["name"]
        del self.objects[kind, name]
        if kind == "deployments":
            for pod in self.pods_of(name):
                pod.deleted = True
        return {"apiVersion": "v1", "kind": "Status", "status": "Success", "details": {"name": name, "kind": kind}}

    def _list(self, kind: str, given: dict[str, str]) -> Json:
        wanted = dict(pair.split("=") for pair in given.get("labelSelector", "").split(",") if pair)
        if kind == "pods":
            chosen = [pod for pod in self.pods if wanted.items() <= pod.labels.items()]
            for pod in chosen:
                self._step(pod)
            items = [self._shown(pod) for pod in chosen]
            self.pods = [pod for pod in self.pods if not pod.deleted or pod not in chosen or pod.grace > 0]
        else:
            items = [
                one
                for (its_kind, _), one in sorted(self.objects.items())
                if its_kind == kind and wanted.items() <= one["metadata"].get("labels", {}).items()
            ]
        begin, limit = int(given.get("continue", 0)), int(given.get("limit", 500))
        following = str(begin + limit) if begin + limit < len(items) else ""
        return {"kind": "List", "metadata": {"continue": following}, "items": items[begin : begin + limit]}

    # Controllers and the kubelet.

    def _roll_out(self, deployment: Json) -> None:
        """Recreate: the Pods of before end, then there is a new one."""
        name, template = deployment["metadata"]["name"], deployment["spec"]["template"]
        image = template["spec"]["containers"][0]["image"]
        script = self.scripts.get(image, Script())
        for pod in self.pods_of(name):
            pod.deleted = True
        number = next(self._numbers)
        if not script.no_pod:
            labels, notes = template["metadata"]["labels"], template["metadata"].get("annotations", {})
            self.pods.append(Pod(f"{name}-{number:05}", labels, image, script, number, notes))
        conditions = [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]
        if script.late:
            conditions = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
        if script.no_pod:
            conditions += [{"type": "ReplicaFailure", "status": "True", "message": script.no_pod}]
        deployment["status"] = {
            "observedGeneration": deployment["metadata"]["generation"],
            "updatedReplicas": 0 if script.no_pod else 1,
            "conditions": conditions,
        }

    def pods_of(self, name: str) -> list[Pod]:
        """Pods of a release, the newest last."""
        return [pod for pod in self.pods if pod.labels.get("app.kubernetes.io/name") == name and not pod.deleted]

    def _step(self, pod: Pod) -> None:
        pod.looks += 1
        pod.grace -= pod.deleted
        script = pod.script
        if pod.deleted or script.waiting or script.unschedulable:
            return
        if not pod.containers:
            pod.containers.append(Container(f"containerd://{next(self._numbers)}"))
        elif pod.crashed:
            self.start_again(pod)
        elif script.exit_code is not None:
            pod.crashed = True

    def start_again(self, pod: Pod) -> None:
        """The kubelet starts its container again; the one before the last is forgotten with its log."""
        pod.crashed, pod.restarts = False, pod.restarts + 1
        pod.containers = [*pod.containers[-1:], Container(f"containerd://{next(self._numbers)}")]

    def _shown(self, pod: Pod) -> Json:
        script = pod.script
        made = datetime.fromtimestamp(1_700_000_000 + pod.made, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        shown: Json = {"metadata": {"name": pod.name, "labels": pod.labels, "creationTimestamp": made}, "status": {}}
        shown["metadata"]["annotations"] = pod.annotations
        if pod.deleted:
            shown["metadata"]["deletionTimestamp"] = made
        if script.unschedulable:
            condition = {"type": "PodScheduled", "status": "False", "message": script.unschedulable}
            shown["status"] = {"phase": "Pending", "conditions": [condition]}
            return shown
        ended = {"exitCode": script.exit_code, "reason": script.reason}
        box: Json = {
            "name": "app",
            "image": pod.image,
            "imageID": "",
            "ready": False,
            "restartCount": pod.restarts,
            "lastState": {},
        }
        if script.waiting:
            box["state"] = {"waiting": {"reason": script.waiting, "message": script.message}}
        elif pod.crashed:
            box["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting"}}
            box["lastState"] = {"terminated": {**ended, "containerID": pod.containers[-1].id}}
        else:
            box |= {"state": {"running": {"startedAt": made}}, "containerID": pod.containers[-1].id}
            box["ready"] = pod.looks > script.ready_after and not script.never_ready and script.exit_code is None
            if len(pod.containers) > 1:
                box["lastState"] = {"terminated": {**ended, "containerID": pod.containers[0].id}}
        shown["status"] = {"phase": "Running" if pod.containers else "Pending", "containerStatuses": [box]}
        return shown

    def _log(self, name: str, given: dict[str, str]) -> bytes:
        pod = next((one for one in self.pods if one.name == name), None)
        if pod is None:
            raise Refused(404, "NotFound", f'pods "{name}" not found')
        if given.get("container") != "app" or given.get("timestamps") != "true":
            raise Refused(400, "BadRequest", "a container name must be specified")
        previous = given.get("previous") == "true"
        chosen = pod.containers[-2:-1] if previous and not pod.crashed else pod.containers[-1:]
        if not chosen:
            raise Refused(400, "BadRequest", f'container "app" in pod "{name}" is waiting to start: ContainerCreating')
        since = 0
        if "sinceTime" in given:  # whole seconds, as the API's type for times has it
            since = int(datetime.strptime(given["sinceTime"], "%Y-%m-%dT%H:%M:%S%z").timestamp()) * 10**9
        return b"".join(_stamped(chosen[0].log, since))

    def _proxy(self, asked: BaseHTTPRequestHandler, found: re.Match[str], query: str) -> bytes:
        name, _, port = found["name"].partition(":")
        service = self._get("services", name)
        if port not in [one["name"] for one in service["spec"]["ports"]]:
            raise Refused(503, "ServiceUnavailable", f'no endpoints available for service "{name}"')
        pods = [pod for pod in self.pods if service["spec"]["selector"].items() <= pod.labels.items()]
        if not any(self._shown(pod)["status"]["containerStatuses"][0]["ready"] for pod in pods if pod.containers):
            raise Refused(503, "ServiceUnavailable", f'no endpoints available for service "{name}"')
        self.proxied.append((f"{found['rest'] or '/'}?{query}", dict(asked.headers.items())))
        prefix = urlsplit(asked.path).path.partition("/proxy")[0] + "/proxy"
        # Links of HTML lead through the proxy again, as the real one makes them.
        return f'<a href="{prefix}/items">hello from {name}</a>'.encode()


def _merged(one: Any, change: Any) -> Any:
    """RFC 7386."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    merged = dict(one) if isinstance(one, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged


def _stamped(log: list[tuple[int, bytes]], since: int) -> Iterator[bytes]:
    for when, line in log:
        if when >= since:
            second, rest = divmod(when, 10**9)
            stamp = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            yield f"{stamp}.{rest:09}Z ".encode() + line
