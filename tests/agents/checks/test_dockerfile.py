"""Dockerfiles: each rule finds its mistake at its line and says what to do; a good file has none."""

import tomllib
from pathlib import Path

import pytest

from agents.checks import dockerfile
from agents.checks.checked_file import CheckedFile
from agents.checks.dockerfile import check_dockerfile
from sandbox.dockerfile import bases
from tests.tables import each_row

GOOD = r"""# syntax=docker/dockerfile:1
ARG PYTHON=3.12-slim
FROM python:${PYTHON} AS build
WORKDIR /src
COPY pyproject.toml app ./
# a comment between continued lines is fine
RUN apt-get update \
    # like this one
 && apt-get install -y --no-install-recommends gcc \
 && rm -rf /var/lib/apt/lists/* \
 && pip install --no-cache-dir --target /deps .

FROM python:${PYTHON}
ENV PYTHONPATH=/deps TOKEN_FILE=/run/secrets/token
COPY --from=build /deps /deps
RUN <<EOF
useradd app
EOF
USER app
EXPOSE 8000
HEALTHCHECK --interval=5s CMD ["python", "-c", "print()"]
CMD ["python", "-m", "app"]
"""
TAIL = 'USER app\nHEALTHCHECK NONE\nCMD ["a"]\n'
# An instruction that is wrong, and the number of the one rule that it breaks.
WRONG = [
    ("WORKDIR src", "DL3000"),
    ("RUN service nginx start", "DL3001"),
    ("RUN cd /src", "DL3003"),
    ("RUN sudo make-it", "DL3004"),
    ("RUN apt-get update && apt-get install -y --no-install-recommends git", "DL3009"),
    ("RUN apt-get install --no-install-recommends git && rm -rf /var/lib/apt/lists/*", "DL3014"),
    ("RUN apt-get install -y git && rm -rf /var/lib/apt/lists/*", "DL3015"),
    ("RUN apt-get update && apt-get -y upgrade", "DL3017"),
    ("RUN apk add git", "DL3019"),
    ("ADD app /app", "DL3020"),
    ("ENTRYPOINT python -m app", "DL3025"),
    ("RUN apt update", "DL3027"),
    ("RUN pip3 install flask", "DL3042"),
    ("RUN yarn install", "DL3060"),
    ("MAINTAINER somebody", "DL4000"),
    ("ENV DB_PASSWORD=horse9battery", "AC0001"),
    ("ARG API_TOKEN 9f8a7b6c", "AC0001"),
    ("COPY .env /app/", "AC0002"),
    ("COPY keys/server.pem /app/", "AC0002"),
    ("RUNN true", "DL1000"),
    ("USER root", "DL3002"),
    ("FROM debian", "DL3006"),
    ("FROM host:5000/debian:latest", "DL3006"),
    ("EXPOSE 80 70000", "DL3011"),
    ("HEALTHCHECK CMD a", "DL3012"),
    ("COPY a b /c", "DL3021"),
    ("COPY --from=builder /a /a", "DL3022"),
    ("FROM debian:12 AS one", "DL3024"),
    ("CMD b", "DL4003"),
    ("RUN npm ci && npm run build", "AC0003"),
    ("RUN apk add --no-cache build-base", "AC0003"),
]


def numbers(text: str, place: CheckedFile | None = None) -> list[str]:
    found = check_dockerfile(text, place) if place else check_dockerfile(text)
    return [said.partition(":")[0] for _, said in found]


@each_row(("line", "number"), WRONG)
def test_a_mistake_is_found_at_its_line(line: str, number: str) -> None:
    text = f"FROM debian:12 AS one\nUSER app\n{line}\n"
    text += 'HEALTHCHECK NONE\nCMD ["a"]\n' if line.startswith("USER") else TAIL
    found = [(at, said) for at, said in check_dockerfile(text) if said.startswith(f"{number}:")]
    assert found, list(check_dockerfile(text))
    (at, said) = found[0]
    assert at in (3, 5, 6), said
    assert "; " in said, "a reason and a cure"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('FROM debian:12\nHEALTHCHECK NONE\nCMD ["a"]\n', "DL3002"),
        ('FROM debian:12\nUSER app\nCMD ["a"]\n', "DL3057"),
        ("LABEL a=b\nFROM debian:12\n" + TAIL, "DL3061"),
        ("# nothing\n", "AC0006"),
    ],
)
def test_what_is_missing_is_found(text: str, number: str) -> None:
    assert numbers(text) == [number]


def test_a_good_file_has_no_findings() -> None:
    assert list(check_dockerfile(GOOD)) == []


def test_a_user_and_a_health_check_may_come_from_the_stage_below() -> None:
    assert numbers(f"FROM debian:12 AS base\n{TAIL}FROM base\nCOPY a /a\n") == []
    assert numbers(f'FROM debian:12 AS base\n{TAIL}FROM base\nUSER 0\nCMD ["a"]\n') == ["DL3002"]


def test_an_image_of_nothing_needs_neither_user_nor_health_check() -> None:
    assert numbers("FROM scratch\nCOPY tool /tool\n") == []


def test_what_is_copied_must_be_there_and_whole_folders_need_an_ignore_file() -> None:
    def place(*paths: str) -> CheckedFile:
        return CheckedFile("web/Dockerfile", paths, lambda _: "")

    text = f"FROM debian:12\nCOPY . /srv\nCOPY app/*.py gone.txt /srv/\n{TAIL}"
    assert numbers(text, place("web/Dockerfile", "web/app/a.py")) == ["AC0004", "AC0005"]
    assert numbers(text, place("web/.dockerignore", "web/app/a.py", "gone.txt")) == []


def test_the_images_that_a_file_starts_from_are_named_with_the_defaults_of_its_arguments() -> None:
    assert bases(f"{GOOD}COPY --from=busybox:1 /a /a\nCOPY --from=0 /b /b\n") == ["python:3.12-slim", "busybox:1"]


def test_every_rule_has_a_mistake_here() -> None:
    rules = tomllib.loads(Path(dockerfile.__file__).with_name("dockerfile_rules.toml").read_text())
    source = Path(__file__).read_text()
    assert [number for number in rules if f'"{number}"' not in source] == []
