"""Servers for tests, as a compose file names them."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agents.checks.compose_services import compose_services, with_services
from sandbox.services import Service
from sandbox.test_setup import TestSetup
from tests.tables import each_row

SHOP = """
services:
  web:
    build: .
    environment:
      DATABASE_URL: postgresql+psycopg://shop:${DB_PASSWORD:-secret}@db:5432/shop?sslmode=disable
      CACHE_URL: redis://cache/1
      PYTHONPATH: /app
      MAIL_URL: smtp://mail:25
      MODE: db
  db:
    image: docker.io/library/postgres:16.4-alpine
    environment:
      - POSTGRES_USER=shop
      - POSTGRES_PASSWORD=${DB_PASSWORD:-secret}
    volumes:
      - ./db/init:/docker-entrypoint-initdb.d:ro
      - ./db/more.sql:/docker-entrypoint-initdb.d/99.sql
      - data:/var/lib/postgresql/data
      - /etc/passwd:/docker-entrypoint-initdb.d/x.sql
      - ../outside.sql:/docker-entrypoint-initdb.d/y.sql
  cache:
    image: valkey/valkey:8
  search:
    image: opensearch:2
"""
FILES = {"docker-compose.yml": SHOP, "db/init": "01.sql\n02.sql\nrun.sh", "db/more.sql": "select 1"}


def test_servers_addresses_and_seeds_are_read_from_a_compose_file() -> None:
    services, environment = compose_services(FILES.get)
    seeds = ("db/init/01.sql", "db/init/02.sql", "db/more.sql")
    assert services == [
        Service("postgresql", "docker.io/library/postgres:16.4-alpine", "shop", "secret", "shop", seeds),
        Service("redis", "valkey/valkey:8", "", "", "test"),
    ]
    assert environment == {
        "DATABASE_URL": "postgresql+psycopg://shop:secret@127.0.0.1:5432/shop?sslmode=disable",
        "CACHE_URL": "redis://127.0.0.1:6379/1",
    }


def test_mysql_without_a_user_is_its_root() -> None:
    text = "services: {db: {image: 'mysql:8.4', environment: {MYSQL_ROOT_PASSWORD: pw, MYSQL_DATABASE: shop}}}"
    assert compose_services({"compose.yaml": text}.get)[0] == [Service("mysql", "mysql:8.4", "root", "pw", "shop")]


def test_a_value_that_only_the_host_knows_is_empty_and_an_odd_image_falls_back_to_the_usual_one() -> None:
    text = "services: {db: {image: 'postgres:${VERSION}', environment: {POSTGRES_PASSWORD: '${SECRET:?set it}'}}}"
    assert compose_services({"compose.yaml": text}.get)[0] == [
        Service("postgresql", "postgres:", "postgres", "", "postgres")
    ]
    odd = "services: {db: {image: '-v /:/x/postgres'}}"
    assert [one.image for one in compose_services({"compose.yaml": odd}.get)[0]] == [""]


def test_what_the_setup_names_comes_before_what_the_file_names(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text("services: {db: {image: postgres:16}, store: {image: redis:7}}")
    chosen = Service("postgresql", "postgres:12")
    setup = with_services(TestSetup(services=(chosen,), environment={"DATABASE_URL": "x"}), tmp_path)
    assert setup.services == (chosen, Service("redis", "redis:7", "", "", "test"))
    assert setup.environment == {"DATABASE_URL": "x"}
    assert with_services(TestSetup(), tmp_path / "db") == TestSetup()


def test_a_link_out_of_the_repository_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text("services: {db: {image: postgres:16}}")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "compose.yaml").symlink_to(tmp_path / "outside.yaml")
    assert with_services(TestSetup(), tree) == TestSetup()


@each_row(
    "text",
    [
        "",
        "- 1",
        "services: 3",
        "services: {a: 1, b: {image: [postgres]}, c: {image: postgres, environment: 3, volumes: 4}}",
        "services: {a: {image: postgres, volumes: [{source: 1}, 2, null]}}",
        "services: {a: {image: postgres}, b: {environment: {X_URL: 'http://[broken'}}}",
        "a: &a [x]\nb: [" + "*a, " * 50 + "]\nservices: {a: {image: postgres}}",
        "{",
        "x" * 300_000,
    ],
)
def test_what_cannot_be_read_names_nothing_and_breaks_nothing(text: str) -> None:
    compose_services({"compose.yaml": text}.get)


@given(st.text(max_size=200), st.text(max_size=60), st.text(max_size=60))
def test_no_text_of_a_compose_file_raises(image: str, value: str, volume: str) -> None:
    import yaml

    told = {"db": {"image": f"postgres:{image}", "environment": [value], "volumes": [volume]}, "x": {"image": image}}
    compose_services({"compose.yaml": yaml.safe_dump({"services": told})}.get)
