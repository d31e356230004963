import subprocess


def git_version() -> str:
    return subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
