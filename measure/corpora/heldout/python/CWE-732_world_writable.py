import os


def prepare(folder):
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, 0o777)
