"""Python code judged by its syntax tree. What the sandbox contains anyway is allowed; reaching out of it is not."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterator

from agents.firewall.base import ALLOW, FirewallContext, Verdict, worst
from agents.firewall.commands import judge_command
from agents.firewall.paths import is_secret, judge_root, judge_write
from agents.gates.quiet import quiet

_LAYER = "code"
_OTHER_LANGUAGE = re.compile(
    r"^\s*(<|//|/\*|#include|[.#@]?[\w-]+\s*\{\s*$|\{|\[|(export|const|let|var|function|import\s+.*\bfrom\b|package|public|use\s+strict|SELECT|CREATE|INSERT|---|FROM\s)\b)|=>|;\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_JAVASCRIPT_DANGER = re.compile(
    r"child_process|process\.binding|process\.env\b(?!\.\w|\[)|require\(\s*['\"](net|dgram|tls|vm|worker_threads)['\"]"
)
_SENDERS = re.compile(
    r"^(requests|httpx)\.(post|put|patch|get|request|Client|AsyncClient|Session)|^urllib\.request\.(urlopen|Request|urlretrieve)|^urllib3\.|^http\.client\.HTTPS?Connection"
    r"|^socket\.(socket|create_connection)|^smtplib\.|^ftplib\.|^telnetlib\.|^paramiko\.|^aiohttp\.|^websockets?\.|^asyncio\.open_connection|^dns\."
)
_RUNNERS = re.compile(
    r"^(os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*)|subprocess\.(run|call|check_call|check_output|Popen|getoutput|getstatusoutput)|asyncio\.create_subprocess_(shell|exec)|pty\.spawn|commands\.getoutput)$"
)
_ESCAPES = frozenset(
    {
        "os.setuid",
        "os.setgid",
        "os.seteuid",
        "os.setresuid",
        "os.chroot",
        "os.unshare",
        "os.setns",
        "os.pivot_root",
        "os.mknod",
        "sys.settrace",
        "resource.prlimit",
    }
)
_ALIASED = frozenset({"os", "subprocess", "shutil", "socket", "builtins", "eval", "exec"})
_KILLERS = frozenset({"os.kill", "os.killpg", "os.abort", "signal.pidfd_send_signal"})
_NATIVE = ("ctypes", "cffi", "_ctypes", "mmap.mmap")
_INSIDES = frozenset(
    {
        "__subclasses__",
        "__globals__",
        "__builtins__",
        "__bases__",
        "__mro__",
        "__base__",
        "f_globals",
        "f_back",
        "gi_frame",
        "tb_frame",
        "__code__",
        "__closure__",
    }
)
_WRITERS = frozenset(
    {
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "os.rename",
        "os.replace",
        "os.symlink",
        "os.link",
    }
)
_REMOVERS = frozenset({"shutil.rmtree", "os.removedirs"})
_PATH_ACTS = frozenset(
    {"os.remove", "os.unlink", "os.rmdir", "os.mkdir", "os.makedirs", "os.chmod", "os.chown", "os.truncate"}
)
_DECODERS = re.compile(
    r"b64decode|b32decode|b85decode|a85decode|unhexlify|fromhex|decompress|rot13|urlopen|\.get\(|\.text\b|\.content\b|recv"
)
_LOCAL = re.compile(
    r"^(https?|wss?)://(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|test(server)?|[\w.-]*example\.(com|org|net)|[\w.-]+\.(test|local|invalid|example))([:/]|$)"
)


def judge_code(text: str, context: FirewallContext) -> Verdict:
    """Judge a module or snippet; text that is no Python is judged as text, broken Python is refused with its line."""
    tree = _parse(text)
    if isinstance(tree, ast.Module):
        return worst(_Visitor(context).judge(tree))
    if _OTHER_LANGUAGE.search(text):
        if found := _JAVASCRIPT_DANGER.search(text):
            return _approve("native", f"{found[0]} starts programs or opens connections.")
        return ALLOW
    return _deny("unparsable", f"The code does not parse ({tree}); correct the syntax.")


def _parse(text: str) -> ast.Module | str:
    why = ""
    for attempt in (text, textwrap.dedent(text)):
        with quiet():
            try:
                return ast.parse(attempt)
            except SyntaxError as error:
                why = f"line {error.lineno}: {error.msg}"
            except (ValueError, RecursionError, MemoryError) as error:
                why = type(error).__name__
    return why


def _deny(rule: str, reason: str) -> Verdict:
    return Verdict("deny", _LAYER, reason, f"code.{rule}")


def _approve(rule: str, reason: str) -> Verdict:
    return Verdict("approve", _LAYER, reason, f"code.{rule}")


class _Visitor:
    """One pass over a module: names resolved through imports, calls judged, then the whole weighed."""

    def __init__(self, context: FirewallContext) -> None:
        self.context = context
        self.names: dict[str, str] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.sends = self.reads_secrets = self.duplicates = self.has_socket = False

    def judge(self, tree: ast.Module) -> Iterator[Verdict]:
        nodes = list(ast.walk(tree))
        for node in nodes:
            self.learn(node)
            self.parents.update((child, node) for child in ast.iter_child_nodes(node))
        for node in nodes:
            if isinstance(node, ast.Call):
                yield from self.call(node)
            elif isinstance(node, ast.Attribute):
                yield from self.attribute(node)
            elif isinstance(node, ast.While):
                yield from self.loop(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from self.text(node.value)
        if self.has_socket and self.duplicates:
            yield _deny("reverse-shell", "A network connection is wired to a shell.")
        if self.sends and self.reads_secrets:
            yield _deny("exfiltration", "The code reads secrets and sends data out.")

    def learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute | ast.Name | ast.Call):
            # run = os.system; run("…")
            dotted = self.dotted(node.value)
            if dotted.partition(".")[0] in _ALIASED:
                self.names.update(
                    (t.id, dotted) for t in node.targets if isinstance(t, ast.Name) and t.id not in self.names
                )

    def dotted(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        if isinstance(node, ast.Call):
            name = self.dotted(node.func)
            if name in ("__import__", "importlib.import_module") and node.args:
                return _string(node.args[0]) or ""
            if name == "getattr" and len(node.args) >= 2:
                attribute = _string(node.args[1])
                return f"{self.dotted(node.args[0])}.{attribute}" if attribute else ""
        return ""

    def call(self, node: ast.Call) -> Iterator[Verdict]:
        name = self.dotted(node.func).removeprefix("builtins.")
        first = _string(node.args[0]) if node.args else None
        if _RUNNERS.match(name):
            yield self.program(name, node)
        elif name in ("eval", "exec", "compile") and node.args:
            source = ast.unparse(node.args[0])
            if name != "compile" and _DECODERS.search(source):
                yield _deny("decoded-code", f"{name} runs text that was decoded or fetched.")
            elif first is not None and name != "compile":
                inner = _parse(first)
                yield (
                    worst(_Visitor(self.context).judge(inner))
                    if isinstance(inner, ast.Module)
                    else _approve("dynamic", f"{name} runs text.")
                )
            elif first is None:
                yield _approve("dynamic", f"{name} runs text as code.")
        elif name in ("__import__", "importlib.import_module") and first is None:
            yield _approve("dynamic-import", "The module to import is known only at run time.")
        elif (
            name == "getattr"
            and len(node.args) >= 2
            and self.dotted(node.args[0]) in ("os", "subprocess", "builtins", "__builtins__", "sys")
        ):
            if not isinstance(node.args[1], ast.Constant):
                yield _deny("hidden-name", "A dangerous name is put together at run time.")
        elif name in _ESCAPES or name.startswith("os.dup2"):
            self.duplicates |= name == "os.dup2"
            yield _approve("rights", f"{name} changes the rights or the files of the process.")
        elif name in _KILLERS:
            yield _approve("kill", f"{name} ends processes.")
        elif name.startswith(_NATIVE):
            yield _approve("native", f"{name} runs native code, which cannot be checked.")
        elif _SENDERS.match(name):
            self.sends = True
            self.has_socket |= name.startswith("socket.")
            target = next((s for s in map(_string, node.args[:2]) if s and "://" in s), None)
            if target and ("169.254.169.254" in target or "metadata.google" in target):
                yield _deny("metadata", "Reads the machine's metadata service.")
            elif target and not _LOCAL.match(target):
                yield _approve("network", f"{name} talks to {target.split('/')[2]}.")
        yield from self.files(name, node, first)

    def files(self, name: str, node: ast.Call, first: str | None) -> Iterator[Verdict]:
        mode = (
            _string(node.args[1])
            if len(node.args) > 1
            else next((_string(k.value) for k in node.keywords if k.arg == "mode"), None)
        )
        if name in ("open", "io.open", "codecs.open", "aiofiles.open") and first and mode and set(mode) & set("wax+"):
            yield judge_write(first, None, self.context)
        elif name in _REMOVERS and node.args:
            target = first or (
                "~" if "expanduser" in ast.unparse(node.args[0]) or "home()" in ast.unparse(node.args[0]) else None
            )
            yield judge_root(target, None, self.context) if target else ALLOW
        elif name in _PATH_ACTS and first:
            yield judge_write(first, None, self.context)
        elif name in _WRITERS and len(node.args) > 1 and (target := _string(node.args[1])):
            yield judge_write(target, None, self.context)
        elif name.endswith((".write_text", ".write_bytes", ".unlink", ".touch", ".mkdir")) or (
            isinstance(node.func, ast.Attribute) and node.func.attr in ("write_text", "write_bytes", "unlink", "touch")
        ):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(owner, ast.Call) and owner.args and (target := _string(owner.args[0])):
                yield judge_write(target, None, self.context)

    def attribute(self, node: ast.Attribute) -> Iterator[Verdict]:
        dotted = self.dotted(node)
        if node.attr in _INSIDES:
            chain = ast.unparse(node)
            if node.attr in ("__subclasses__", "__globals__", "__builtins__") or chain.count("__") >= 4:
                yield _deny("insides", f"Reaches into Python's insides ({node.attr}).")
        if dotted == "os.environ" and self.is_whole(node):
            self.reads_secrets = True

    def is_whole(self, environment: ast.Attribute) -> bool:
        """One variable is ordinary; all of them, as data, are not. (A copy for a child process is ordinary too.)"""
        parent = self.parents.get(environment)
        if isinstance(parent, ast.Attribute):
            return parent.attr in ("items", "values")
        return isinstance(parent, ast.Call | ast.FormattedValue | ast.Dict | ast.Return)

    def loop(self, node: ast.While) -> Iterator[Verdict]:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        forks = any(
            isinstance(n, ast.Call) and self.dotted(n.func) in ("os.fork", "os.forkpty") for n in ast.walk(node)
        )
        if endless and forks:
            yield _deny("fork-bomb", "Starts processes without end.")

    def text(self, value: str) -> Iterator[Verdict]:
        if len(value) < 400 and is_secret(value):
            self.reads_secrets = True
            yield (
                _deny("secret-path", f"Names {value!r}, which holds secrets.")
                if "docker.sock" in value or value.startswith("/proc/")
                else _approve("secret-path", f"Names {value!r}, which holds secrets.")
            )

    def program(self, name: str, node: ast.Call) -> Verdict:
        if not node.args:
            return _approve("subprocess", f"{name} starts a program known only at run time.")
        argument = node.args[0]
        text = _string(argument)
        if text is None and isinstance(argument, ast.List | ast.Tuple):
            parts = [_string(element) for element in argument.elts]
            head = argument.elts[0] if argument.elts else None
            if head is not None and parts[0] is None and self.dotted(head) != "sys.executable":
                return _approve("subprocess", f"{name} starts a program known only at run time.")
            text = " ".join(
                shlex.quote(part if part is not None else ("python" if index == 0 else "VALUE"))
                for index, part in enumerate(parts)
            )
        if text is None and isinstance(argument, ast.JoinedStr):
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "VALUE" for v in argument.values)
            return worst(
                [
                    judge_command(text, self.context, judge_code, 1),
                    _approve("subprocess", f"{name} starts a command put together at run time."),
                ]
            )
        if text is None:
            return _approve("subprocess", f"{name} starts a program known only at run time.")
        return judge_command(text, self.context, judge_code, 1)


def _string(node: ast.AST) -> str | None:
    """The text of a constant, also when it is written in parts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _string(node.left), _string(node.right)
        return left + right if left is not None and right is not None else None
    return None
