import subprocess
import sys


def run_tests(folder: str) -> bool:
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=folder, timeout=300, check=False)
    return done.returncode == 0
