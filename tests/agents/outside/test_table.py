"""The table of other agents: what an administrator may name, and what is refused with the place and the way out."""

from pathlib import Path

import pytest

from agents.outside.table import AgentsFileError, load_agents
from tests.tables import each_row

WHOLE = """
[opencode]
command = ["/opt/opencode/bin/opencode", "acp"]
folders = ["/opt/opencode"]
env = ["ANTHROPIC_API_KEY"]
hosts = ["api.anthropic.com", "127.0.0.1:11434"]
note = "Code goes to Anthropic."
seconds = 600
memory_mb = 4096
[opencode.variables]
OPENCODE_DISABLE_AUTOUPDATE = "1"
"""


def load(tmp_path: Path, text: str, private: tuple[Path, ...] = ()):
    file = tmp_path / "agents.toml"
    file.write_text(text)
    return load_agents(file, private)


def test_an_agent_is_read_whole_and_a_missing_file_names_none(tmp_path):
    agent = load(tmp_path, WHOLE)["opencode"]
    assert agent.command == ("/opt/opencode/bin/opencode", "acp")
    assert agent.outside_hosts == ("api.anthropic.com",)
    assert (agent.seconds, agent.memory_mb) == (600, 4096)
    assert agent.variables == (("OPENCODE_DISABLE_AUTOUPDATE", "1"),)
    assert load_agents(tmp_path / "none.toml") == {}


@each_row(
    ("old", "new", "said"),
    [
        ("[opencode]", "[coder]", "not `coder`"),
        ('"/opt/opencode/bin/opencode"', '"opencode"', "whole path"),
        ('"/opt/opencode"]', '"/opt"]', "at least two parts"),
        ('"/opt/opencode"]', '"/proc/1"]', "not a folder that programs are installed in"),
        ("ANTHROPIC_API_KEY", "AISWE_SECRET_KEY", "env must be names"),
        ("ANTHROPIC_API_KEY", "AISWE_OPENAI_API_KEY", "env must be names"),
        ("ANTHROPIC_API_KEY", "sk-ant-something", "env must be names"),
        ("api.anthropic.com", "https://api.anthropic.com/v1", "hosts must be names of hosts"),
        ("600", "5", "seconds must be a number"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "LD_PRELOAD", "variables must be"),
        ("note =", "notes =", "'notes' is not known"),
        ('"Code goes to Anthropic."', "[", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, said):
    with pytest.raises(AgentsFileError, match=said) as refused:
        load(tmp_path, WHOLE.replace(old, new))
    assert "sk-ant" not in str(refused.value), "it may be the key itself"


def test_a_folder_with_something_private_in_it_is_not_shown(tmp_path):
    home = tmp_path / "aiswe"
    home.mkdir()
    with pytest.raises(AgentsFileError, match="would show"):
        load(tmp_path, WHOLE.replace('"/opt/opencode"]', f'"{tmp_path}"]'), (home,))
