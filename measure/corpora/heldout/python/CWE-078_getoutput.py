import subprocess
import sys

if __name__ == "__main__":
    print(subprocess.getoutput("ls -l " + sys.argv[1]))
