"""Switching the guards off: tests, scanners, their settings and the record of what was done; and emptying the sources."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from agents.firewall.base import Verdict, words
from agents.firewall.file_effects import approve
from agents.firewall.paths import patterns
from agents.firewall.shell import Simple, Word

_SOURCE = re.compile(r"\.(py|pyi|js|jsx|mjs|cjs|ts|tsx|go|rs|java|c|cc|cpp|h|hpp|rb|php|cs|kt|swift|scala|vue)$")
_TEST = re.compile(r"(^|/)(test_[^/]*|[^/]*(_test|\.test|\.spec))\.\w+$|(^|/)(tests?|__tests__|specs?)(/\*|/?$)")
_TEST_FOLDER = re.compile(r"^(\./)?(tests?|__tests__|specs?)(/\*?)?$")
# Only the record that others rely on: ordinary logs come and go.
_RECORD = re.compile(
    r"(^|/)[\w.-]*(audit|access|auth|security|secure|syslog|evidence)[\w.-]*\.(log|jsonl?|txt)$|\.jsonl$"
)
_SETTINGS = re.compile(
    r"(^|/)(conftest\.py|pytest\.ini|tox\.ini|\.coveragerc|setup\.cfg|pyproject\.toml|mypy\.ini|\.mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc|pylintrc"
    r"|\.eslintrc(\.\w+)?|eslint\.config\.\w+|\.eslintignore|\.prettierignore|tslint\.json|tsconfig\.json|(jest|vitest)\.config\.\w+|\.nycrc(\.json)?|\.stylelintrc(\.\w+)?|clippy\.toml|\.golangci\.ya?ml|\.rubocop\.yml|phpstan\.neon|\.hadolint\.yaml|package\.json)$"
)
_WEAKER = re.compile(
    r"(?i)fail[_-]under|\bstrict\b|ignore|skip|exclude|\bomit|bandit|semgrep|addopts|disable|no:|deselect|\"off\"|'off'|\"?rules\"?\s*[:=]\s*\{\s*\}|items\.clear|items\[:\]|pytest_runtest|pytest_collection|threshold"
    r"|no-eval|continue-on-error|\bS\d{3}\b|filterwarnings"
)
_SILENCERS = re.compile(
    r"(?i)\bnosec\b|\bnoqa\b|nosemgrep|type:\s*ignore|pragma:\s*(no\s*cover|allowlist)|(eslint|pylint|tslint|stylelint|rubocop)[-: ]?disable|gitleaks:allow|mypy:\s*ignore|@ts-(ignore|nocheck)|nolint|SuppressWarnings"
)
_TESTS_OFF = re.compile(
    r"assert\S*\s*True\b|/\^?\s*assert\b|s[/|#]\^?\s*assert\b|def skip|def no_|mark\.skip|pytest\.skip|xfail|unittest\.skip|\b(it|describe|test)\.skip"
)
_GUARD = re.compile(r"(?:which|command -v|type -[pP])\s+([\w-]+)")
_LOCKS = re.compile(
    r"(^|/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock|Cargo\.lock|go\.sum|requirements[\w.-]*\.txt)$"
)
_ALL_FILES = re.compile(r"(listdir|\bglob|rglob|iglob|os\.walk|scandir|iterdir|ls-files|readdir)")
_REMOVES = re.compile(
    r"\.(remove|unlink|rmtree|rmdir|truncate|rename|unlinkSync|rmSync|write_text|write_bytes)\(|open\([^)]*,\s*['\"]wb?['\"]\)\.(close|truncate)"
)
_REMOVES_ALL = re.compile(
    r"(rmtree|rmSync|rmdirSync|rm_rf|rm_r|remove_dir_all|removedirs|fs\.rm)\(\s*['\"](\./?|\.git/?|(\./)?(src|app|lib|tests?)/?|/workspace/?\S*|\*)['\"]|rmtree\(\s*(os\.getcwd\(\)|Path\.cwd\(\))"
)
_ALL_LISTED = re.compile(
    r"(\$\(|`)\s*(git ls-files|ls( -\w+)?|find( \.)?( -type f| -name ['\"]?\*\.\w+['\"]?)?)\s*(\)|`|\|)"
)
_CHANGERS = frozenset(
    {"rm", "truncate", "cp", "cat", "sed", "ln", "shred", "unlink", "mv", "chmod", "tee", ":", "echo", ""}
)
_LOSERS = frozenset({"rm", "unlink", "shred", "truncate", "wipe", "srm", "git"})


def judge_tampering(name: str, arguments: Sequence[Word], simple: Simple, said: str) -> Iterator[Verdict]:
    """Whether a command takes away what checks the agent's work; `said` is the whole line, for what it lists."""
    plain = [word for word in arguments if not word.text.startswith("-")]
    for word in arguments:
        found = _GUARD.search(word.text) if name in ("rm", "mv", "chmod", "cp", "ln", "truncate", "unlink") else None
        if found and found[1] in words("guards", "programs"):
            yield approve("guard", f"{name} changes {found[1]}, which checks the work.")
    yield from _emptied(name, arguments, simple, plain)
    yield from _removed(name, arguments, plain, said)
    if name in ("sed", "gsed", "perl") and any(re.match(r"-[a-zA-Z]*i|--in-place|-p?i", w.text) for w in arguments):
        yield from _edited(" ".join(word.text for word in arguments), plain)
    if name in ("echo", "printf", "cat", "tee"):
        yield from _written(name, arguments, simple, plain)
    if name.startswith(("python", "node", "ruby", "deno", "bun")):
        code = " ".join(word.text for word in arguments)
        if _REMOVES_ALL.search(code) or (_ALL_FILES.search(code) and _REMOVES.search(code)):
            yield approve("whole-files", f"The {name} program removes or empties the files of the project.")
    if name in _CHANGERS and any(re.search(r"HISTFILE|_history\b", word.text) for word in [*arguments, *simple.writes]):
        yield approve("history", "Changes the shell's record of what it ran.")
    yield from _whole_project(name, arguments, simple, plain)
    if name == "kill" and any("BASHPID" in word.text for word in arguments):
        yield approve("history", "Ends the shell before it records what it ran.")
    dated = name == "touch" and any(re.match(r"-\w*[tdr]|--(date|reference)", w.text) for w in arguments)
    if dated and any(_SOURCE.search(word.text) or word.text.endswith(".sh") for word in plain):
        yield approve("false-date", "touch gives a source another date.")


def _emptied(name: str, arguments: Sequence[Word], simple: Simple, plain: Sequence[Word]) -> Iterator[Verdict]:
    """Files that are left empty, or filled with what is no work."""
    texts = [word.text for word in arguments]
    targets: list[Word] = []
    nothing = not texts or texts in ([""], ["-n"], ["-n", ""], ["-e", ""], ["/dev/null"])
    if (
        name in ("", ":", "true", "echo", "printf", "cat")
        and nothing
        and simple.piped_from is None
        and not simple.reads
    ):
        targets = (
            []
            if simple.text_in is not None or simple.blind_in or (name == "cat" and not texts)
            else list(simple.writes)
        )
    elif name in ("yes", "head") and (name == "yes" or "/dev/urandom" in texts or "/dev/zero" in texts):
        targets = list(simple.writes)
    elif name in ("cp", "install", "mv") and texts and "/dev/null" in texts[:-1]:
        targets = list(plain[-1:])
    elif name == "truncate" or (name == "tee" and _fed_nothing(simple)):
        targets = list(plain)
    elif name == "dd" and any(
        text in ("if=/dev/null", "if=/dev/zero", "if=/dev/urandom", "if=/dev/random") for text in texts
    ):
        targets = [Word(text[3:]) for text in texts if text.startswith("of=")]
    for word in targets:
        base = posixpath.basename(word.text)
        if base in ("__init__.py", "py.typed"):
            continue
        if (
            _SOURCE.search(word.text)
            or _TEST.search(word.text)
            or _SETTINGS.search(word.text)
            or _RECORD.search(word.text)
        ):
            yield approve("emptied", f"{word.text} is emptied or overwritten with nothing of use.")
    if (
        name in ("cp", "dd", "truncate")
        and "{}" in " ".join(texts)
        and re.search(r"/dev/(null|zero|u?random)|-s\s*0", " ".join(texts))
    ):
        yield approve("emptied", f"{name} empties every file that is found.")
    if name == "mv" and plain and plain[-1].text == "/dev/null":
        yield approve("emptied", "mv throws files away.")


def _fed_nothing(simple: Simple) -> bool:
    before = simple.piped_from
    if before is not None:
        return [word.text for word in before.words] == ["cat", "/dev/null"]
    return any(word.text == "/dev/null" for word in simple.reads)


def _removed(name: str, arguments: Sequence[Word], plain: Sequence[Word], said: str) -> Iterator[Verdict]:
    verb = plain[0].text if name == "git" and plain else ""
    if name == "git" and verb not in ("rm", "mv"):
        return
    if name not in _LOSERS and name not in ("mv", "chmod"):
        return
    gone = list(plain[1:] if name in ("git", "chmod") else plain)
    moves = "mv" in (name, verb)
    if moves:
        gone = gone[:-1]
    cached = name == "git" and "--cached" in [word.text for word in arguments]
    tests = [word for word in gone if _TEST.search(word.text)]
    if name == "chmod":
        if tests and plain[0].text in ("000", "0", "0000", "a-r", "a-rwx", "-r", "-rwx"):
            yield approve("tests", "chmod makes tests unreadable.")
        return
    for word in gone:
        if name == "git" and not cached and any(pattern.search(word.text) for pattern in patterns("ask")):
            yield approve("machinery", f"git {verb} takes {word.text} away, which steers machinery outside the task.")
        ordinary = cached or moves or word.text.endswith(("package.json", "tsconfig.json"))
        if _SETTINGS.search(word.text) and not ordinary:
            yield approve("check-settings", f"{name} removes {word.text}, which sets what is checked.")
        if _RECORD.search(word.text) and not moves:
            yield approve("record", f"{name} removes {word.text}, which by its name records what was done.")
        if (found := re.search(_ALL_LISTED, word.text)) and not moves:
            yield approve("whole-files", f"{name} takes all that {found[2]} lists.")
        if re.search(r"^\*/$|^\.\[!?\^?\.?\]?\S*\*$", word.text):
            yield approve("whole-workspace", f"{word.text} is everything in the workspace.")
    whole = [word for word in tests if _TEST_FOLDER.match(word.text) or "*" in word.text]
    guarding = [word for word in tests if re.search(r"(?i)secur|auth|perm|access|audit|sandbox|csrf|login", word.text)]
    renames = (
        "mv" in (name, verb) and plain and not re.match(r"/|\.\./|~|\S*(old|bak|off|disabled|orig)", plain[-1].text)
    )
    if not cached and not renames and (whole or (guarding and not moves) or len(tests) > 1):
        yield approve("tests", f"{verb or name} takes tests away.")


def _edited(script: str, plain: Sequence[Word]) -> Iterator[Verdict]:
    """What an edit in place puts in or takes out."""
    if (found := _SILENCERS.search(script)) and not re.search(re.escape(found[0]) + r"[^/|#]*([/|#])\1", script):
        yield approve("silenced", f"Marks code so that checks pass over it ({found[0]}).")
    files = [word.text for word in plain]
    if _TESTS_OFF.search(script) and any(_TEST.search(text) or text.startswith(("tests/", "{}")) for text in files):
        yield approve("tests", "Takes the checks out of tests.")
    for text in files:
        if _SETTINGS.search(text) and (found := _WEAKER.search(script.replace(text, ""))):
            yield approve("check-settings", f"Changes what is checked in {text} ({found[0]}).")
        if _LOCKS.search(text) and re.search(
            r"(?i)registry|resolved|integrity|hash|https?:|sha\d", script.replace(text, "")
        ):
            yield approve("lock-file", f"Changes where {text} takes packages from, or their hashes.")
        if _RECORD.search(text) and re.search(r"[/\d$]d\b", script):
            yield approve("record", f"Takes lines out of {text}.")
        if (_SOURCE.search(text) or text == "{}") and re.search(
            r"(?:^|\s)s(.)\^?\.\*?\$?\1\w?\1[gs]?(?:\s|$)|\$_\s*=\s*['\"]{2}|(^|\s)d(\s|$)|(^|\s)1,\$d", script
        ):
            yield approve("whole-files", "An edit in place empties sources.")


def _written(name: str, arguments: Sequence[Word], simple: Simple, plain: Sequence[Word]) -> Iterator[Verdict]:
    """Settings of checks that are written anew from the command."""
    content = " ".join(word.text for word in arguments) if name != "tee" else ""
    content += simple.text_in or ""
    for word in [*simple.writes, *(plain if name == "tee" else ())]:
        if not _SETTINGS.search(word.text):
            if word.text.endswith((".py", ".js", ".ts")) and name in ("echo", "printf") and _SILENCERS.search(content):
                yield approve("silenced", "Marks code so that checks pass over it.")
            continue
        if word.text.endswith(".eslintignore"):
            yield approve("check-settings", f"{word.text} lists what is not checked.")
        weaker = (
            _WEAKER.search(content)
            if name in ("echo", "printf")
            else re.search(
                r"collect_ignore|items\.clear|items\[:\]|fail_under\s*=\s*0|allow_module_level|\"?rules\"?\s*[:=]\s*\{\s*\}|pytest_ignore_collect",
                content,
            )
        )
        if weaker:
            yield approve("check-settings", f"Sets what is checked in {word.text} ({weaker[0]}).")


_FOLDERS = frozenset({"src", "lib", "app", "tests", "test", ".git"})
_NARROWS = re.compile(
    r"-(i?name|i?path|i?wholename|i?regex|inum|[acm]time|[acm]min|newer\S*|user|group|nouser|nogroup|uid|gid|used|size|empty|perm|links|samefile|xtype|prune)$"
)


def _whole_project(name: str, arguments: Sequence[Word], simple: Simple, plain: Sequence[Word]) -> Iterator[Verdict]:
    """The project as a whole: packed away, moved out, listed and removed, made unreadable."""
    texts = [word.text for word in arguments]
    said = " ".join(texts)
    named = [posixpath.normpath(word.text.removesuffix("*") or ".") for word in plain]
    whole = [text for text in named if text in _FOLDERS or text == "."]
    if name in ("rm", "shred", "unlink") and any(re.search(r"\$\{?(0|BASH_SOURCE)\b", text) for text in texts):
        yield approve("record", f"{name} removes the script that is running.")
    if name == "rm" and any(re.match(r"-\w*[rR]|--recursive", text) for text in texts) and _FOLDERS & set(named):
        yield approve("whole-files", "rm takes the sources of the project.")
    if name == "mv" and len(named) > 1 and _FOLDERS & set(named[:-1]) and named[-1].startswith(("/", "..", "~")):
        yield approve("whole-files", "mv takes the sources out of the project.")
    if (name in ("tar", "bsdtar") and "--remove-files" in texts and whole) or (
        name == "zip" and whole and any(re.fullmatch(r"-[a-zA-Z]*m[a-zA-Z]*", text) for text in texts)
    ):
        yield approve("whole-files", f"{name} removes what it packs.")
    if name == "rsync" and (
        ("--delete" in said and (_FOLDERS & set(named[-1:]) or re.search(r"(^|/)empty", " ".join(named))))
        or ("--remove-source-files" in said and whole)
    ):
        yield approve("whole-files", "rsync removes the sources of the project.")
    if name == "chmod":
        if any(re.search(r"(^|/)\.git(/|$)", text) for text in texts):
            yield approve("guard", "chmod changes git's own files.")
        off = any(re.fullmatch(r"0+|[ugoa]*-r?w?x|[ugoa]*=", text) for text in texts)
        if off and (whole or re.search(r"(venv|node_modules/\.)(bin|/bin)?/", said)):
            yield approve("guard", "chmod makes files unusable that the checks need.")
    if name in ("mkdir", "cp", "mv", "touch") and any(
        re.fullmatch(r"\.{3,}|\.*\s+", posixpath.basename(word.text)) for word in plain[-1:]
    ):
        yield approve("hidden-file", f"{name} gives a file a name that listings hide.")
    if name == "find":
        yield from _found(texts)


def _found(texts: list[str]) -> Iterator[Verdict]:
    """What find removes or empties of the project."""
    said = " ".join(texts)
    removes = "-delete" in texts or re.search(r"-exec(dir)?\s+(\S*/)?(rm|shred|unlink)\b", said)
    end = next((i for i, text in enumerate(texts) if text.startswith(("-", "(", "!"))), len(texts))
    starts = texts[:end]
    inside = all(posixpath.normpath(start) in _FOLDERS | {"."} for start in starts)
    values = [texts[i + 1] for i, text in enumerate(texts[:-1]) if text in ("-name", "-iname", "-path")]
    narrowed = any(_NARROWS.match(text) and texts[i - 1] not in ("!", "-not", "\\!") for i, text in enumerate(texts))
    if removes and inside and not narrowed and not re.search(r"-type [dl]\b", said):
        yield approve("whole-files", "find removes everything it meets in the project.")
    if removes and any(re.match(r"\*?test_|\*?[._]test\.|\*?\.spec\.", value) for value in values):
        yield approve("tests", "find removes tests.")
    if re.search(
        r"sh -c (: |true |echo |cat /dev/null )?(-n )?>\s*\"?(\$[10@]|\{\})|\{\} \S*\{\}\.(locked|enc|crypt\w*|encrypted|lock)\b",
        said,
    ):
        yield approve("emptied", "find empties or renames every file that it meets.")


_LISTED = re.compile(
    r"\bread\b.*\b(?:rm|shred|truncate)\b.*<\s*<\(git ls-files\)|git ls-files(?![^|;]*(--others|\s-o\b|--deleted|\s-d\b|--ignored)).*?(\b(rm|shred|truncate|unlink)\b|[:;o]\s*>\s*\"?\$)",
    re.DOTALL,
)


def judge_whole(text: str) -> Iterator[Verdict]:
    """A loop over all files that git keeps: what happens to each is seen only from the whole text."""
    if _LISTED.search(text):
        yield approve("whole-files", "Takes away or empties every file that git keeps.")


def judge_shadowed(functions: set[str]) -> Iterator[Verdict]:
    """Functions with the names of programs that check the work."""
    for name in sorted(functions & (words("guards", "programs") | {"git", "sudo", "ssh"})):
        yield approve("shadowed", f"A function takes the place of {name}.")
