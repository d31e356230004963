"""Container files and scripts: who runs it, what it pulls, what it gives away."""

from pathlib import Path

from agents.gates.run import run_gates
from tests.agents.gates.samples import CLEAN_DOCKERFILE
from tests.tables import each_row

CASES = [
    ("Dockerfile", "FROM python:3.12\nCMD x\n", "docker-runs-as-root"),
    ("Dockerfile", "FROM python:3.12\nUSER app\nUSER root\n", "docker-runs-as-root"),
    ("Dockerfile", "FROM python:3.12\nUSER app\nFROM debian:12\n", "docker-runs-as-root"),
    ("Dockerfile", "FROM python\nUSER app\n", "docker-unpinned-image"),
    ("Dockerfile.dev", "FROM host:5000/python:latest\nUSER app\n", "docker-unpinned-image"),
    ("Dockerfile", "FROM a:1\nENV DB_PASSWORD=horse9battery\nUSER app\n", "docker-secret-in-layer"),
    ("Dockerfile", "FROM a:1\nARG API_KEY 9f8a7b6c5d\nUSER app\n", "docker-secret-in-layer"),
    ("Dockerfile", "FROM a:1\nRUN curl -fsSL https://x/y \\\n  | bash -s\nUSER app\n", "download-piped-to-shell"),
    ("Dockerfile", "FROM a:1\nADD https://x/y /z\nUSER app\n", "docker-add-from-url"),
    ("compose.yaml", "services:\n  a:\n    privileged: true\n", "container-privileged"),
    (
        "docker-compose.yml",
        "    volumes:\n      - /var/run/docker.sock:/var/run/docker.sock\n",
        "container-engine-socket",
    ),
    ("compose.yaml", "    network_mode: host\n", "container-host-namespace"),
    ("compose.yaml", "    cap_add:\n      - SYS_ADMIN\n", "container-extra-capabilities"),
    ("compose.yaml", "    security_opt:\n      - seccomp:unconfined\n", "container-extra-capabilities"),
    ("compose.yaml", "    security_opt: [systempaths=unconfined]\n", "container-extra-capabilities"),
    ("compose.yaml", '    security_opt: ["apparmor=${PROFILE:-unconfined}"]\n', "container-extra-capabilities"),
    ("compose.yaml", "    volumes:\n      - /etc:/host\n", "container-mounts-system"),
    ("compose.yaml", "    volumes:\n      - /:/host\n", "container-mounts-system"),
    ("compose.yaml", "    user: root\n", "docker-runs-as-root"),
    ("compose.yaml", "    image: redis\n", "docker-unpinned-image"),
    ("Dockerfile", "FROM a:1\nRUN pip install --trusted-host x y\nUSER app\n", "docker-unverified-packages"),
    ("Dockerfile", "FROM a:1\nRUN chmod -R 777 /srv\nUSER app\n", "docker-open-rights"),
    ("install.sh", "#!/bin/sh\nwget -qO- https://x | sudo sh\n", "download-piped-to-shell"),
    ("setup", "#!/usr/bin/env bash\nbash <(curl -s https://x)\n", "download-piped-to-shell"),
]


@each_row(("name", "text", "rule"), CASES)
def test_the_mistake_is_found(tmp_path: Path, name: str, text: str, rule: str) -> None:
    (tmp_path / name).write_text(text)
    assert rule in {finding.rule for finding in run_gates(tmp_path, tools=["containers"]).findings}


@each_row(
    ("name", "text"),
    [
        ("Dockerfile", CLEAN_DOCKERFILE),
        (
            "Dockerfile",
            "FROM python:3.12 AS build\nRUN make\nFROM build\nUSER 1000:1000\nENV TOKEN_PATH=/x PASSWORD=$PASSWORD\n",
        ),
        ("Dockerfile", "FROM scratch\nCOPY tool /tool\n"),
        ("compose.yaml", "services:\n  a:\n    image: x:1\n    # privileged: true\n"),
        (
            "compose.yaml",
            "services:\n  a:\n    image: host:5000/x:1.2\n    user: app\n    cap_drop: [ALL]\n"
            "    volumes:\n      - ./data:/data\n      - /etc/ssl/certs:/etc/ssl/certs:ro\n",
        ),
        ("run.sh", "#!/bin/sh\ncurl -o x.tgz https://x && sha256sum -c x.sum\nls | sort\n"),
    ],
)
def test_the_right_way_passes(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert run_gates(tmp_path, tools=["containers"]).findings == ()
