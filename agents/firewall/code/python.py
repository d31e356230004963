"""Python code judged by its syntax tree. What the sandbox contains anyway is allowed; reaching out of it is not."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterator
from functools import partial

from agents.firewall.base import (
    ALLOW,
    CodeJudges,
    FirewallContext,
    FirewallVerdict,
    layer_verdicts,
    names_in,
    pattern_in,
    table,
    worst,
)
from agents.firewall.code.javascript import judge_javascript
from agents.firewall.code.python_strings import beginning_of, number_of, text_of
from agents.firewall.paths import is_secret, judge_root, judge_write
from agents.firewall.shell.commands import command_verdicts, judge_command
from agents.gates.quiet import quiet
from agents.languages.python import syntax

_TABLE = "code/python.toml"
_deny, _approve = layer_verdicts("code")
_names = partial(names_in, _TABLE)
_pattern = partial(pattern_in, _TABLE)
_MOST_TIMES = 500_000_000


def judge_code(text: str, context: FirewallContext) -> FirewallVerdict:
    """Judge a module or snippet; text that is no Python is judged as text, broken Python is refused with its line."""
    return worst(code_verdicts(text, context))


def code_verdicts(text: str, context: FirewallContext) -> Iterator[FirewallVerdict]:
    """Everything that is to be said about a piece of code, by all layers."""
    if _pattern("shell").match(text):
        yield from command_verdicts(text, context, CODE_JUDGES, 1)
        return
    tree = _parse(text)
    if isinstance(tree, ast.Module):
        yield from _Visitor(context).judge(tree)
        if _pattern("either").search(text):
            yield judge_javascript(text, context)
    elif _pattern("other_language").search(text):
        yield judge_javascript(text, context)
    else:
        yield _deny("unparsable", f"The code does not parse ({tree}); correct the syntax.")


def _parse(text: str) -> ast.Module | str:
    why = ""
    for attempt in (text, textwrap.dedent(text)):
        with quiet():
            try:
                return syntax.parse(attempt)
            except SyntaxError as error:
                why = f"line {error.lineno}: {error.msg}"
            except (ValueError, RecursionError, MemoryError) as error:
                why = type(error).__name__
    return why


class _Visitor:
    """One pass over a module: names resolved through imports, calls judged, then the whole weighed."""

    def __init__(self, context: FirewallContext) -> None:
        self.context = context
        self.names: dict[str, str] = {}
        self.shadowed: set[str] = set()
        self.parents: dict[ast.AST, ast.AST] = {}
        self.texts: dict[str, str] = {}
        self.sends = self.reads_secrets = self.duplicates = self.has_socket = False

    def judge(self, tree: ast.Module) -> Iterator[FirewallVerdict]:
        nodes = list(ast.walk(tree))
        for node in nodes:
            self.learn(node)
            self.parents.update((child, node) for child in ast.iter_child_nodes(node))
        for node in nodes:
            if isinstance(node, ast.Call):
                yield from self.call(node)
            elif isinstance(node, ast.Attribute):
                yield from self.attribute(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from self.decorators(node)
            elif isinstance(node, ast.BinOp):
                yield from self.size(node)
            elif isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
                yield from self.assignment(node)
            elif isinstance(node, ast.While):
                yield from self.loop(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from self.text(node.value)
        if self.has_socket and self.duplicates:
            yield _deny("reverse-shell", "A network connection is wired to a shell.")
        if self.sends and self.reads_secrets:
            yield _deny("exfiltration", "The code reads secrets and sends data out.")

    def learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _names("text_to_code"):
            self.shadowed.add(node.name)
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                self.names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            # run = os.system; run("…"), and name = 'sys' + 'tem'; getattr(os, name)
            value = node.value.body if isinstance(node.value, ast.Lambda) else node.value
            value = value.func if isinstance(node.value, ast.Lambda) and isinstance(value, ast.Call) else value
            dotted = self.named(value)
            if dotted.partition(".")[0] in _names("aliased"):
                self.names.update((name, dotted) for name in names if name not in self.names and name != dotted)
            if names and (text := text_of(node.value)) is not None:
                for name in names:
                    # A name with two texts has none: which one holds is known only at run time.
                    self.texts[name] = text if self.texts.get(name, text) == text else ""

    def text_in(self, node: ast.AST | None) -> str | None:
        """The text of an expression, also by the name it was given."""
        if isinstance(node, ast.Name):
            return self.texts.get(node.id) or None
        return text_of(node)

    def dotted(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        if isinstance(node, ast.Call):
            name = self.named(node.func)
            if name in _names("importers") and node.args:
                return self.text_in(node.args[0]) or ""
            if name == "getattr" and len(node.args) >= 2:
                attribute = self.text_in(node.args[1])
                return f"{self.dotted(node.args[0])}.{attribute}" if attribute else ""
            if name == "vars" and node.args:
                return self.dotted(node.args[0])
            if name in ("globals", "locals"):
                return "globals()"
        if isinstance(node, ast.Subscript):
            owner, key = self.dotted(node.value).removesuffix(".__dict__"), self.text_in(node.slice)
            if key and owner in ("sys.modules", "globals()"):
                return self.names.get(key, key)
            if key and (owner in _names("dangerous") or owner.endswith("__builtins__")):
                return f"{owner}.{key}"
        return ""

    def named(self, node: ast.AST) -> str:
        """The dotted name of an expression; built-in functions by their name alone."""
        return self.dotted(node).removeprefix("builtins.").removeprefix("__builtins__.")

    def call(self, node: ast.Call) -> Iterator[FirewallVerdict]:
        name = self.named(node.func)
        first = self.text_in(node.args[0]) if node.args else None
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            passed = self.named(argument) if isinstance(argument, ast.Name | ast.Attribute) else ""
            if _pattern("runners").match(passed) or (passed in ("eval", "exec") and passed not in self.shadowed):
                yield _approve("handed-on", f"{passed} is handed on, to be called with what is known only at run time.")
        if _pattern("runners").match(name):
            yield self.program(name, node)
        elif name in _names("text_to_code") and node.args:
            yield from self.evaluated(name, node.args[0], first)
        elif name in _names("importers") and first is None:
            yield _approve("dynamic-import", "The module to import is known only at run time.")
        elif name == "setattr" and node.args and self.dotted(node.args[0]) in _names("dangerous"):
            yield _approve("patching", "Replaces a part of a module that others rely on.")
        elif name == "getattr" and len(node.args) >= 2 and self.dotted(node.args[0]) in _names("dangerous"):
            if not isinstance(node.args[1], ast.Constant):
                yield _deny("hidden-name", "A dangerous name is put together at run time.")
        elif _pattern("senders").match(name):
            yield from self.sending(name, node)
        for rule in table(_TABLE)["calls"]:
            if name in rule["names"] or name.startswith(tuple(rule.get("beginnings", ()))):
                yield _approve(rule["rule"], f"{name} {rule['reason']}")
        self.duplicates |= name == "os.dup2"
        yield from self.files(name, node, first)

    def evaluated(self, name: str, argument: ast.expr, text: str | None) -> Iterator[FirewallVerdict]:
        """eval, exec and compile: text that is known is judged, decoded text is refused."""
        if name != "compile" and _pattern("decoders").search(ast.unparse(argument)):
            yield _deny("decoded-code", f"{name} runs text that was decoded or fetched.")
        elif name != "compile" and text is not None:
            inner = _parse(text)
            unread = [_approve("dynamic", f"{name} runs text.")]
            yield worst(_Visitor(self.context).judge(inner) if isinstance(inner, ast.Module) else unread)
        elif text is None and name not in self.shadowed:
            yield _approve("dynamic", f"{name} runs text as code.")

    def sending(self, name: str, node: ast.Call) -> Iterator[FirewallVerdict]:
        """A call that reaches other machines."""
        self.has_socket |= name.startswith("socket.")
        given = [*node.args[:2], *(k.value for k in node.keywords if k.arg in ("url", "host", "address"))]
        target = next((s for s in map(beginning_of, given) if s and "://" in s), None)
        own = target is not None and _pattern("local").match(target) is not None
        # Talking to itself, as servers' own scripts do, sends nothing out.
        self.sends |= not own
        yield from self.host(name, given)
        if target and ("169.254.169.254" in target or "metadata.google" in target):
            yield _deny("metadata", "Reads the machine's metadata service.")
        elif target and not own:
            yield _approve("network", f"{name} talks to {target.split('/')[2]}.")

    def host(self, name: str, given: list[ast.expr]) -> Iterator[FirewallVerdict]:
        """A machine that is named without an address: ('203.0.113.7', 80)."""
        for one in given:
            inner = one.elts[0] if isinstance(one, ast.Tuple) and one.elts else one
            text = self.text_in(inner)
            plain = text is not None and "://" not in text and re.fullmatch(r"[\w-]+(\.[\w-]+)+", text)
            if (
                plain
                and text is not None
                and not _pattern("local_host").match(text)
                and name.startswith(tuple(_names("named_hosts")))
            ):
                yield _approve("network", f"{name} talks to {text}.")

    def decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[FirewallVerdict]:
        """@exec and its like run what stands below them."""
        for decorator in node.decorator_list:
            name = self.named(decorator)
            if name in _names("text_to_code") or _pattern("runners").match(name):
                yield _deny("decorator", f"{name} as a decorator runs what is hidden in names or values.")

    def size(self, node: ast.BinOp) -> Iterator[FirewallVerdict]:
        """'a' * 10**12 takes all memory at once."""
        if isinstance(node.op, ast.Mult):
            for text, times in ((node.left, node.right), (node.right, node.left)):
                if (
                    isinstance(text, ast.Constant | ast.List)
                    and not isinstance(getattr(text, "value", ""), int | float | complex)
                    and (number_of(times) or 0) > _MOST_TIMES
                ):
                    yield _approve("memory", "Builds something enormous in memory.")

    def assignment(self, node: ast.Assign | ast.AugAssign | ast.Delete) -> Iterator[FirewallVerdict]:
        """Import hooks replaced, steering variables set."""
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        for target in targets:
            owner = target.value if isinstance(target, ast.Subscript) else target
            name = self.dotted(owner) if isinstance(owner, ast.Attribute) else ""
            if name in _names("hooks") and not (name == "sys.modules" and isinstance(node, ast.Delete)):
                yield _approve("hooks", f"Changing {name} changes what later imports and calls do.")
            if name == "os.environ" and isinstance(target, ast.Subscript):
                key = self.text_in(target.slice) or ""
                if key in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONSTARTUP", "BASH_ENV", "GIT_SSH_COMMAND"):
                    yield _approve("environment", f"Setting {key} changes what later programs run.")

    def files(self, name: str, node: ast.Call, first: str | None) -> Iterator[FirewallVerdict]:
        modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        mode = text_of(modes[0]) if modes else None
        if name in ("open", "io.open", "codecs.open", "aiofiles.open") and first and mode and set(mode) & set("wax+"):
            yield judge_write(first, None, self.context)
        elif name in _names("removers") and node.args:
            home = re.search(r"expanduser|home\(\)", ast.unparse(node.args[0]))
            target = first or ("~" if home else None)
            yield judge_root(target, None, self.context) if target else ALLOW
        elif name in _names("path_acts") and first:
            yield judge_write(first, None, self.context)
        elif name in _names("writers") and len(node.args) > 1 and (target := text_of(node.args[1])):
            yield judge_write(target, None, self.context)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _names("path_methods"):
            owner = node.func.value
            if isinstance(owner, ast.Call) and owner.args and (target := text_of(owner.args[0])):
                yield judge_write(target, None, self.context)

    def attribute(self, node: ast.Attribute) -> Iterator[FirewallVerdict]:
        dotted = self.dotted(node)
        if node.attr in _names("insides"):
            chain = ast.unparse(node)
            if node.attr in _names("reaching") or chain.count("__") >= 4:
                yield _deny("insides", f"Reaches into Python's insides ({node.attr}).")
        if dotted in _names("hooks") and isinstance(self.parents.get(node), ast.Attribute) and dotted != "sys.modules":
            yield _approve("hooks", f"Changing {dotted} changes what later imports and calls do.")
        if dotted == "os.environ" and self.is_whole(node):
            self.reads_secrets = True
            above: ast.AST | None = node
            for _ in range(4):
                above = self.parents.get(above) if above is not None else None
                if isinstance(above, ast.FormattedValue) or (
                    isinstance(above, ast.Call) and self.dotted(above.func) in _names("serialisers")
                ):
                    yield _approve("environment", "Shows all environment variables as data.")
                    break

    def is_whole(self, environment: ast.Attribute) -> bool:
        """One variable is ordinary; all of them, as data, are not. (A copy for a child process is ordinary too.)"""
        parent = self.parents.get(environment)
        if isinstance(parent, ast.Attribute):
            return parent.attr in ("items", "values")
        return isinstance(parent, ast.Call | ast.FormattedValue | ast.Dict | ast.Return)

    def loop(self, node: ast.While) -> Iterator[FirewallVerdict]:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        called = {self.dotted(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
        if endless and called & {"os.fork", "os.forkpty"}:
            yield _deny("fork-bomb", "Starts processes without end.")

    def text(self, value: str) -> Iterator[FirewallVerdict]:
        if len(value) < 400 and is_secret(value):
            self.reads_secrets = True
            verdict = _deny if "docker.sock" in value or value.startswith("/proc/") else _approve
            yield verdict("secret-path", f"Names {value!r}, which holds secrets.")

    def program(self, name: str, node: ast.Call) -> FirewallVerdict:
        argument = node.args[0] if node.args else None
        text, verdicts = text_of(argument), []
        if text is None and isinstance(argument, ast.List | ast.Tuple):
            parts = [text_of(element) for element in argument.elts]
            if not parts or parts[0] is not None or self.dotted(argument.elts[0]) == "sys.executable":
                unknown = ["python", *("VALUE" for _ in parts)]
                text = shlex.join(other if part is None else part for part, other in zip(parts, unknown, strict=False))
        elif text is None and isinstance(argument, ast.JoinedStr):
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "VALUE" for v in argument.values)
            verdicts = [_approve("subprocess", f"{name} starts a command put together at run time.")]
        if text is None:
            return _approve("subprocess", f"{name} starts a program known only at run time.")
        return worst([judge_command(text, self.context, CODE_JUDGES, 1), *verdicts])


CODE_JUDGES = CodeJudges(judge_code, judge_javascript)
