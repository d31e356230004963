import json
from pathlib import Path


def remember(path: Path, values: dict[str, int]) -> None:
    path.write_text(json.dumps(values), encoding="utf-8")


def recall(path: Path) -> dict[str, int]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
