"""No package with a licence that is unknown or not allowed is shipped, and every package is named in the notices."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scripts import licences
from tests.tables import each_row

POLICY: dict[str, Any] = {
    "allowed": {"MIT": "permissive", "Apache-2.0": "permissive"},
    "exceptions": {"driver": {"licence": "LGPL-3.0-only", "because": "an unchanged library"}},
    "stated": {"silent": "MIT"},
}


def install(environment: Path, name: str, *metadata: str, texts: dict[str, str] | None = None) -> None:
    """Put the metadata of a package, as pip would, into an environment."""
    folder = environment / "lib" / "python3.11" / "site-packages" / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *metadata]))
    for path, text in (texts or {}).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    (folder / "RECORD").write_text("".join(f"{folder.name}/{path},,\n" for path in texts or {}))


def locked(environment: Path, *lines: str) -> list[licences.Package]:
    lock = environment / "base.lock.txt"
    lock.write_text("".join(f"{line} \\\n    --hash=sha256:0\n    # via a list\n" for line in lines))
    return licences.locked(lock, environment)


def problems(environment: Path, *lines: str) -> list[str]:
    return list(licences.problems(locked(environment, *lines), POLICY))


@pytest.mark.parametrize(
    "metadata",
    [
        "License-Expression: MIT",
        "License-Expression: GPL-3.0-only OR (MIT AND Apache-2.0)",
        "Classifier: License :: OSI Approved :: MIT License",
        "License: MIT License",
    ],
)
def test_an_allowed_licence_is_found_wherever_packages_state_it(tmp_path: Path, metadata: str) -> None:
    install(tmp_path, "good", metadata)
    assert problems(tmp_path, "good==1.0") == []


@each_row(
    "metadata",
    [
        "License-Expression: AGPL-3.0-or-later",
        "License-Expression: MIT AND GPL-3.0-only",
        "License-Expression: MIT OR",
        "License-Expression: (MIT",
        "Classifier: License :: OSI Approved :: GNU General Public License v3 or later (GPLv3+)",
        "License: see the file",
        "License:",
        "Summary: no word about a licence",
    ],
)
def test_another_licence_or_none_is_a_problem(tmp_path: Path, metadata: str) -> None:
    install(tmp_path, "bad", metadata)
    assert [line.split(":")[0] for line in problems(tmp_path, "bad==1.0")] == ["bad 1.0"]


def test_every_classifier_must_be_allowed(tmp_path: Path) -> None:
    both = ["Classifier: License :: OSI Approved :: MIT License", "Classifier: License :: Other/Proprietary License"]
    install(tmp_path, "half", *both)
    assert len(problems(tmp_path, "half==1.0")) == 1


def test_an_exception_holds_for_its_package_and_its_licence_alone(tmp_path: Path) -> None:
    install(tmp_path, "driver", "License-Expression: LGPL-3.0-only")
    install(tmp_path, "other", "License-Expression: LGPL-3.0-only")
    assert problems(tmp_path, "driver==1.0", "other==1.0") == ["other 1.0: LGPL-3.0-only"]
    other_policy = {**POLICY, "exceptions": {"driver": {"licence": "MIT-0", "because": "it was"}}}
    assert list(licences.problems(locked(tmp_path, "driver==1.0"), other_policy)) == ["driver 1.0: LGPL-3.0-only"]


def test_a_stated_licence_counts_where_the_metadata_is_silent_only(tmp_path: Path) -> None:
    install(tmp_path, "silent")
    assert problems(tmp_path, "silent==1.0") == []
    install(tmp_path / "later", "silent", "License-Expression: GPL-3.0-only")
    assert len(problems(tmp_path / "later", "silent==1.0")) == 1


def test_a_package_of_another_platform_needs_a_stated_licence_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    elsewhere = "; sys_platform == 'nowhere'"
    assert problems(tmp_path, f"silent==1.0 {elsewhere}") == []
    assert problems(tmp_path, f"unknown==1.0 {elsewhere}") == ["unknown 1.0: no licence is stated"]
    with pytest.raises(LookupError, match="gone"):
        locked(tmp_path, "gone==1.0")


def test_the_notices_name_every_package_with_its_texts_and_the_vendored_assets(tmp_path: Path) -> None:
    texts = {"licenses/LICENSE": "Do as you like.", "NOTICE": "By somebody.", "RECORD": ""}
    install(tmp_path, "good", "License-Expression: MIT", texts=texts)
    install(tmp_path, "driver", "License-Expression: LGPL-3.0-only")
    assets = tmp_path / "vendor"
    (assets / "asset-2").mkdir(parents=True)
    (assets / "asset-2" / "LICENSE").write_text("Keep this line.")
    entry = {"name": "asset", "version": "2", "licence": "0BSD", "sha256": {"asset-2/LICENSE": "", "asset-2/a.js": ""}}
    (assets / "vendor.json").write_text(json.dumps([entry]))
    text = licences.notices(locked(tmp_path, "good==1.0", "driver==1.0"), POLICY, assets)
    for part in ("good 1.0\nLicence: MIT", "Do as you like.", "By somebody.", "driver 1.0\nLicence: LGPL-3.0-only"):
        assert part in text
    assert "asset 2\nLicence: 0BSD\n\nKeep this line." in text


def test_the_bill_of_a_release_names_every_package_and_follows_the_schema(tmp_path: Path) -> None:
    install(tmp_path, "good", "License-Expression: MIT")
    entry = {"name": "asset", "version": "2", "licence": "0BSD", "sha256": {}}
    (tmp_path / "vendor.json").write_text(json.dumps([entry]))
    text = licences.bill(locked(tmp_path, "good==1.0"), POLICY, tmp_path)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert [one["purl"] for one in json.loads(text)["components"]] == ["pkg:npm/asset@2", "pkg:pypi/good@1.0"]


def test_every_licence_and_exception_of_the_product_has_a_reason() -> None:
    policy = tomllib.loads((licences.ROOT / "requirements" / "licences.toml").read_text())
    assert all(policy["allowed"].values())
    assert all(entry["because"] for entry in policy["exceptions"].values())


def test_the_image_carries_the_notices_and_a_built_package_takes_them_along() -> None:
    assert "licences.py notices THIRD_PARTY_NOTICES" in (licences.ROOT / "Dockerfile").read_text()
    project = tomllib.loads((licences.ROOT / "pyproject.toml").read_text())["project"]
    assert "THIRD_PARTY_NOTICES*" in project["license-files"]
