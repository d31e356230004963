import argparse
from collections import Counter
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    words = Counter(parser.parse_args().file.read_text(encoding="utf-8").split())
    for word, count in words.most_common(10):
        print(f"{count:6} {word}")


if __name__ == "__main__":
    main()
