"""The same tests of the truth once more, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.needs import missing
from tests.scaleout.servers import ROOT, postgresql, postgresql_programs

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_truth_holds_on_postgresql():
    programs = postgresql_programs()
    if programs is None:
        missing("PostgreSQL's server programs are not installed (apt-get install postgresql)")
    with postgresql(programs) as url:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "tests/projects", "-q", "-p", "no:randomly"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "aiswe_site.settings"},
            capture_output=True,
            text=True,
            timeout=580,
        )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout
