"""Fetch the front end's foreign files from npm, check them, and write down what they are.

Run it by hand (`python static/vendor/vendor.py`) when a version below changes, and commit what it writes:
users need no Node. The integrity values come from the registry's own metadata at the time of the review.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = [
    {
        "name": "htmx.org",
        "version": "4.0.1",
        "licence": "0BSD",
        "integrity": "sha512-oF7JgXhDW9UXCy/k1ZYFUQgzu/rm19ORWPSPNL91vPluB2PB9+MV55tyQdH/w7o2EAbTYUG5SDW1R60mdkdqGg==",
        "files": {"LICENSE": "LICENSE", "dist/htmx.min.js": "htmx.min.js", "dist/ext/hx-csp.min.js": "hx-csp.min.js"},
    },
]


def fetch(name: str, version: str, integrity: str, into: Path) -> Path:
    """Download one package archive and refuse it unless its sha512 is the one that was reviewed."""
    done = subprocess.run(
        ["npm", "pack", f"{name}@{version}", "--json"], cwd=into, check=True, capture_output=True, text=True
    )
    archive = into / json.loads(done.stdout)[0]["filename"]
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != integrity:
        raise SystemExit(f"{name}@{version}: integrity is {found}, expected {integrity}")
    return archive


def vendor(package: dict, scratch: Path) -> dict:
    """Copy the wanted files of one package and return its line of vendor.json."""
    name, version = package["name"], package["version"]
    folder = HERE / f"{name}-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sums = {}
    with tarfile.open(fetch(name, version, package["integrity"], scratch)) as archive:
        for inside, wanted in package["files"].items():
            member = archive.extractfile(f"package/{inside}")
            if member is None:
                raise SystemExit(f"{name}@{version} holds no {inside}")
            data = member.read()
            (folder / wanted).write_bytes(data)
            sums[f"{folder.name}/{wanted}"] = hashlib.sha256(data).hexdigest()
    return {key: package[key] for key in ("name", "version", "licence", "integrity")} | {"sha256": sums}


def main() -> None:
    """Rewrite every vendored folder and vendor.json."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = [vendor(package, Path(scratch)) for package in PACKAGES]
    (HERE / "vendor.json").write_text(json.dumps(lines, indent=2) + "\n")


if __name__ == "__main__":
    main()
