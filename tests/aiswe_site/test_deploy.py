"""Django's deployment check of a public server: clean behind TLS; without it, what is off is off for a reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.aiswe_site.running import REPOSITORY

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
