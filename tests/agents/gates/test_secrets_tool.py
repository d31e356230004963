"""Secrets are found by their shape or by what they are called; code about secrets is no secret."""

from pathlib import Path

from agents.gates.base import Policy, Severity
from agents.gates.run import run_gates
from agents.secrets.formats import find_known, formats
from tests.agents.gates.secret_samples import sample
from tests.tables import each_row

HARD_CODED = [
    'password = "Tr0ub4dor&3x"',
    "DB_PASSWORD = 'correct-horse-9'",
    'config = {"api_key": "9f8a7b6c5d4e3f2a1b0c9d8e"}',
    'SECRET_KEY: str = "k3J9xPq27LmZ0vRt8WyB"',
    'client_secret="Zx81Kq0mNv72LpTr55Yw"',
    "const apiKey = 'b7Qe91LmXz02KvTr84Wp';",
    "auth_token: 'x81Kq0mNv72LpTr55Ywz'",
]
INNOCENT = [
    'password = os.environ["DB_PASSWORD"]',
    'password = getpass("Password: ")',
    "password: str = Field(min_length=12)",
    'SECRET_KEY = os.environ.get("SECRET_KEY", "")',
    'TOKEN_URL = "/auth/token"',
    'token_type = "bearer"',
    'password_field = "password"',
    'error = "wrong password or name"',
    'api_key = "your-api-key-here"',
    'password = "changeme"',
    'secret = "<secret>"',
    'token = "${TOKEN}"',
    'label = {"password": "Password must be long"}',
    'hashed_password = "argon2 goes here and there"',
    'sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
    'if token == "end": pass',
    'key = "name"',
    "oauth2_scheme = OAuth2PasswordBearer(tokenUrl='token')",
]


def test_there_are_at_least_two_hundred_kinds() -> None:
    assert len({entry.kind for entry in formats()}) == len(formats()) > 200


@each_row("kind", [entry.kind for entry in formats()])
def test_a_secret_of_each_known_kind_blocks_and_is_not_repeated(kind: str, tmp_path: Path) -> None:
    text = sample(kind)
    (tmp_path / "settings.toml").write_text(f"value = '{text}'\n")
    report = run_gates(tmp_path, tools=["secrets"])
    assert report.verdict == "blocked"
    kinds = {name for name, _, _ in find_known(f"value = '{text}'")}
    assert kind in kinds
    assert kinds & {finding.rule for finding in report.findings if finding.severity == Severity.HIGH}
    assert text not in str(report.to_json())


@each_row("line", HARD_CODED)
def test_a_literal_given_to_a_secret_name_blocks(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"# code\n{line}\n")
    report = run_gates(tmp_path, tools=["secrets"])
    assert report.verdict == "blocked"
    assert [finding.line for finding in report.findings] == [2]


@each_row("line", INNOCENT)
def test_code_about_secrets_passes(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(line + "\n")
    assert run_gates(tmp_path, tools=["secrets"]).findings == ()


def test_an_env_file_with_a_value_blocks(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DEBUG=0\nDB_PASSWORD=s3cr3t-horse-9\n")
    assert [f.line for f in run_gates(tmp_path, tools=["secrets"]).findings] == [2]


def test_sample_passwords_in_tests_are_low_but_tokens_still_block(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(HARD_CODED[0] + "\n")
    report = run_gates(tmp_path, tools=["secrets"])
    assert report.verdict == "pass"
    assert [f.severity for f in report.findings] == [Severity.LOW]
    (tmp_path / "tests" / "test_b.py").write_text(f"x = '{sample('github-token')}'\n")
    assert run_gates(tmp_path, tools=["secrets"]).verdict == "blocked"


def test_a_secret_of_this_installation_is_critical(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 'my-own-secret-value'\n")
    report = run_gates(tmp_path, tools=["secrets"], policy=Policy(extra_secrets=("my-own-secret-value",)))
    assert [f.severity for f in report.findings] == [Severity.CRITICAL]


def test_a_secret_in_utf_16_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"x = '{sample('github-token')}'\n", encoding="utf-16")
    assert run_gates(tmp_path, tools=["secrets"]).verdict == "blocked"
