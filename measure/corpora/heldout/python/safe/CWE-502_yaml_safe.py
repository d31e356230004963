import yaml


def import_config(text: str) -> dict[str, object]:
    return yaml.safe_load(text)
