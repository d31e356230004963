import os


def write_key(path, key):
    os.umask(0)
    with open(path, "wb") as out:
        out.write(key)
    os.chmod(path, 0o666)
