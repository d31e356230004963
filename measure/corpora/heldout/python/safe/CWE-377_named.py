import tempfile


def spool(data: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as out:
        out.write(data)
    return out.name
