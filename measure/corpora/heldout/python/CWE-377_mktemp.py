import tempfile


def spool(data):
    name = tempfile.mktemp(suffix=".csv")
    with open(name, "w") as out:
        out.write(data)
    return name
