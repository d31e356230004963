import sys
import tarfile


def main():
    archive, target = sys.argv[1], sys.argv[2]
    tar = tarfile.open(archive)
    for member in tar.getmembers():
        tar.extract(member, path=target)
    tar.close()


if __name__ == "__main__":
    main()
