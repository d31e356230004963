"""The same tests of the truth once more, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.needs import missing
from tests.scaleout.servers import ROOT, postgresql, postgresql_programs

# They drive models and sandboxes for minutes, and write no rows that others do not write too.
APART = (
    *("test_node_flow", "test_outside_jobs", "test_forge_circle", "engine/test_streamlit_team"),
    *("engine/test_todo_mode", "engine/test_todo_questions"),
    *("engine/test_build_fixes", "engine/test_other_starts", "services/forges/test_tickets"),
    *("services/forges/test_requests", "services/forges/test_polling", "services/forges/test_reviewing"),
)

pytestmark = [pytest.mark.stage, pytest.mark.postgresql, pytest.mark.slow, pytest.mark.timeout(1_500)]


def test_the_truth_holds_on_postgresql():
    programs = postgresql_programs()
    if programs is None:
        missing("PostgreSQL's server programs are not installed (apt-get install postgresql)")
    assert all((ROOT / "tests" / "projects" / f"{name}.py").is_file() for name in APART)
    with postgresql(programs) as url:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "tests/projects", "-q", "-p", "no:randomly"),
                *(f"--ignore=tests/projects/{name}.py" for name in APART),
            ],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "aiswe_site.settings"},
            capture_output=True,
            text=True,
            timeout=1_480,
        )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout
