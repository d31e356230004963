"""A shell text is read into the commands that a shell would run, whatever way it is written."""

import json
from pathlib import Path

import pytest

from agents.firewall.shell.reader import parse
from agents.firewall.shell.script import Script, Unparsable
from tests.tables import each_row

# Line → programs; recorded with another shell parser, so that no command is lost when the reader changes.
RECORDED: dict[str, list[str]] = json.loads((Path(__file__).parent / "data" / "read_commands.json").read_text("utf-8"))


def lines(script: Script) -> list[str]:
    return [" ".join(word.text for word in command.words) for command in script.commands if command.words]


def test_no_recorded_command_is_lost() -> None:
    lost = {}
    for line, programs in RECORDED.items():
        found = {command.words[0].text for command in parse(line).commands if command.words}
        if missing := set(programs) - found:
            lost[line] = missing
    assert len(RECORDED) >= 300
    assert lost == {}


READ = {
    "echo `a` `b c`": ["a", "b c", "echo $(a) $(b c)"],
    "echo `echo \\`rm x\\``": ["rm x", "echo $(rm x)", "echo $(echo $(rm x))"],
    "cat <<EOF\n`rm x` $(ls)\nEOF": ["rm x", "ls", "cat"],
    "cat <<'EOF'\n`rm x` $(ls)\nEOF": ["cat"],
    "find a 2>/dev/null -exec rm {} +": ["find a -exec rm {} +"],
    "cat <<EOF | sh -x\nls\nEOF": ["cat", "sh -x"],
    "r\\\nm x": ["rm x"],
    "a\"b\"'c'\\ d e": ["abc d e"],
    "[[ -d / ]] && rm x": ["[[ -d / ]]", "rm x"],
    "time -p rm x": ["rm x"],
    "time (rm x)": ["rm x", "time"],
    "{ rm,-rf,x; }": ["rm,-rf,x"],
    "echo {a,b}c": ["echo ac bc"],
    "echo '{a,b}' \"{a,b}\"": ["echo {a,b} {a,b}"],
    "X='rm x'; $X": ["rm x"],
    "X='rm x'; \"$X\"": ["rm x"],
    "for f do rm x; done": ["rm x"],
    "$'\\x72m' x": ["rm x"],
    "$ rm x": ["$ rm x"],
    "head -200>out": ["head -200"],
    "sh 0<&2 1>&2": ["sh"],
    "f() { rm x; } > out": ["rm x"],
    "if a; then b; elif c; then d; else e; fi": ["a", "b", "c", "d", "e"],
    "case $x in a) rm x;; *) ls;; esac": ["rm x", "ls"],
    "! rm x": ["rm x"],
    "ls \\ -a \\\\ b": ["ls  -a \\ b"],
    "a=$(ls) > out": [":", "ls"],
    "while a; do if b; then c; fi done": ["a", "b", "c"],
    "(([[ -f x ]] && ls) || (pwd))": ["[[ -f x ]]", "ls", "pwd"],
    "echo $((1 + $(rm x)))": ["rm x", "echo 0"],
    "echo ${a:-$(rm x)}": ["rm x", "echo ${a:-$(rm x)}"],
}


@each_row("text", READ)
def test_every_command_of_a_text_is_found(text: str) -> None:
    script = parse(text)
    assert sorted(lines(script)) == sorted(READ[text])
    assert not script.opaque


def test_a_pipe_is_followed_through_redirections() -> None:
    last = parse("a | b 2>/dev/null | c > out").commands[-1]
    assert last.name == "c"
    assert [word.text for word in last.writes] == ["out"]
    assert last.piped_from is not None
    assert last.piped_from.piped_from is not None
    assert last.piped_from.piped_from.name == "a"


@each_row("text", ["echo 'unbalanced", "ls )", "if a; then b", "cat <<EOF", "{a,b} && c"])
def test_what_the_grammar_cannot_place_makes_a_text_opaque(text: str) -> None:
    assert parse(text).opaque


def test_a_nesting_without_end_is_refused() -> None:
    with pytest.raises(Unparsable):
        parse("(" * 9_000 + "ls" + ")" * 9_000)


def test_what_is_known_of_a_program_name_is_told_from_what_is_not() -> None:
    known, unknown = parse("$(echo rm) x").commands[-1], parse("$(date) x").commands[-1]
    assert (known.name, known.built) == ("rm", True)
    assert (unknown.name, unknown.words[0].literal) == ("", False)
