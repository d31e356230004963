"""Deployment: Django's check of a public server is clean behind TLS, and the container files grant what is needed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from agents.gates.run import run_gates
from tests.aiswe_site.running import REPOSITORY
from tests.tables import each_row

# Plain http on 127.0.0.1 is how the product starts: a cookie for TLS alone would never come back, a redirect to TLS
# would lead nowhere. Everything else must be on there too. The reasons stand in docs/reference/accounts.md.
OFF_WITHOUT_TLS = {"security.W004", "security.W008", "security.W012", "security.W016"}


def check(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AISWE_", "DJANGO_"))}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**kept, "AISWE_HOME": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_behind_tls_there_is_nothing_to_say(tmp_path: Path) -> None:
    result = check(tmp_path, AISWE_HTTPS="1", AISWE_HOSTS="swe.example.org", AISWE_ORIGINS="https://swe.example.org")
    assert result.returncode == 0, result.stderr
    assert "no issues" in result.stdout


def test_without_tls_only_what_needs_tls_is_off(tmp_path: Path) -> None:
    assert set(re.findall(r"\(([\w.]+)\)", check(tmp_path).stderr)) == OFF_WITHOUT_TLS


def test_cookies_are_bound_to_the_host_behind_tls(tmp_path: Path) -> None:
    words = (
        "import django.conf as c; s = c.settings; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, "
        "s.SESSION_COOKIE_SECURE)"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AISWE_", "DJANGO_"))}
    result = subprocess.run(
        [sys.executable, "-c", words],
        cwd=REPOSITORY,
        env={**kept, "AISWE_HOME": str(tmp_path), "AISWE_HTTPS": "1", "DJANGO_SETTINGS_MODULE": "aiswe_site.settings"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stdout.split() == ["__Host-aiswe_session", "__Host-csrftoken", "True"], result.stderr


def test_our_own_container_files_pass_our_own_gates_but_for_what_bubblewrap_needs() -> None:
    report = run_gates(REPOSITORY, paths=["compose.yaml", "Dockerfile"], tools=["containers", "secrets"])
    assert {tool.files_scanned for tool in report.tools.values()} == {2}
    lines = (REPOSITORY / "compose.yaml").read_text().splitlines()
    # MEDIUM, which a person may accept; docs/how-to/compose.md has the reasons.
    excused = [finding for finding in report.findings if finding.rule == "container-extra-capabilities"]
    assert [lines[finding.line - 1].strip(" -") for finding in excused] == [
        "apparmor=unconfined",
        "systempaths=unconfined",
    ]
    assert report.without({finding.fingerprint for finding in excused}).passed


def services() -> dict[str, dict[str, Any]]:
    return dict(yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"])


@each_row("name", services())
def test_no_service_has_a_right_that_it_does_not_need(name: str) -> None:
    service = services()[name]
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "docker.sock" not in str(service)
    assert service.get("read_only") or name == "ollama"  # its image has not been tried so
    lifted = [option for option in service["security_opt"] if "unconfined" in option]
    assert lifted == (["apparmor=unconfined", "systempaths=unconfined"] if name == "worker" else [])
    assert "${" in service["image"] or service["image"].rpartition(":")[2] not in ("", "latest")


def test_only_the_page_and_the_two_ways_out_have_a_network_that_leads_somewhere() -> None:
    outside = {name for name, service in services().items() if service["networks"] != ["inside"]}
    assert outside == {"web", "egress", "ollama"}
    assert "data" not in str(services()["egress"].get("volumes"))
