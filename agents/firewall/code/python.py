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
from agents.firewall.paths import is_secret, judge_root, judge_write
from agents.firewall.shell.commands import command_verdicts, judge_command
from agents.languages.python import syntax
from agents.languages.python.flow.calls import NameFlow
from agents.languages.python.flow.constants import number_of
from agents.languages.python.flow.results import Site
from agents.languages.python.flow.values import UNKNOWN, Func, Klass, Ref, Text
from agents.languages.python.quiet import quiet

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
    """One pass over a module: names followed to what they stand for, calls judged, then the whole weighed."""

    def __init__(self, context: FirewallContext) -> None:
        self.context = context
        self.parents: dict[ast.AST, ast.AST] = {}
        self.sends = self.reads_secrets = self.duplicates = self.has_socket = False

    def judge(self, tree: ast.Module) -> Iterator[FirewallVerdict]:
        self.flow = NameFlow({"": tree})
        nodes = list(ast.walk(tree))
        for node in nodes:
            self.parents.update((child, node) for child in ast.iter_child_nodes(node))
        for node in nodes:
            if isinstance(node, ast.Attribute):
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
        for site in self.flow.sites(self.flow.modules[""]):
            if isinstance(site.node, ast.Call) and not isinstance(site.callee, Func | Klass):
                yield from self.call(site, site.node)
        if self.flow.exhausted:
            yield _approve("not-followed", "The names of this code are too tangled to be followed.")
        if self.has_socket and self.duplicates:
            yield _deny("reverse-shell", "A network connection is wired to a shell.")
        if self.sends and self.reads_secrets:
            yield _deny("exfiltration", "The code reads secrets and sends data out.")

    def names(self, node: ast.expr) -> set[str]:
        """The dotted names that an expression may stand for; its own where nothing can be told."""
        values = self.flow.values(node)
        return {one.name for one in values if isinstance(one, Ref)} or {
            self.flow.plain(node) if values <= UNKNOWN else ""
        }

    def text_in(self, node: ast.expr | None) -> str | None:
        """The one text that an expression can be."""
        texts, complete = self.flow.texts(node)
        return _shown(texts[0]) if complete and len(texts) == 1 else None

    def texts_in(self, node: ast.expr) -> list[str]:
        """Every text that an expression may be, or how it begins."""
        start = self.flow.beginning(node)
        return [*map(_shown, self.flow.texts(node)[0]), *([start] if start else [])]

    def call(self, site: Site, node: ast.Call) -> Iterator[FirewallVerdict]:
        name = site.callee.name if isinstance(site.callee, Ref) else self.flow.plain(node.func)
        first = self.text_in(site.args[0]) if site.args else None
        yield from self.handed_on(site)
        yield from self.called(name, site, first)
        for rule in table(_TABLE)["calls"]:
            if name in rule["names"] or name.startswith(tuple(rule.get("beginnings", ()))):
                yield _approve(rule["rule"], f"{name} {rule['reason']}")
        for rule in table(_TABLE)["text_runners"]:
            if name in rule["names"] and not (site.args and self.is_plain(site.args[0])):
                yield _approve(rule["rule"], f"{name} {rule['reason']}")
        self.duplicates |= name == "os.dup2"
        yield from self.files(name, site, first)

    def handed_on(self, site: Site) -> Iterator[FirewallVerdict]:
        """Functions that run programs or text, given to another one."""
        for argument in [*site.args, *(keyword.value for keyword in site.keywords)]:
            for passed in self.names(argument) if isinstance(argument, ast.Name | ast.Attribute) else ():
                if _pattern("runners").match(passed) or passed in ("eval", "exec"):
                    yield _approve("handed-on", f"{passed} is handed on, to be called with what is known at run time.")

    def called(self, name: str, site: Site, first: str | None) -> Iterator[FirewallVerdict]:
        """What a function does by itself; `first` is the text of its first argument."""
        args = site.args
        if _pattern("runners").match(name):
            yield self.program(name, args[0] if args else None)
        elif name in _names("text_to_code") and (args or not site.direct):
            yield from self.evaluated(name, args[0] if args else None, first)
        elif name in _names("importers") and first is None:
            yield _approve("dynamic-import", "The module to import is known only at run time.")
        elif name == "setattr" and args and self.names(args[0]) & _names("dangerous"):
            yield _approve("patching", "Replaces a part of a module that others rely on.")
        elif name == "getattr" and len(args) >= 2 and self.names(args[0]) & _names("dangerous"):
            yield from self.looked_up(args[0], args[1])
        elif name.removesuffix(".*") != name and name.removesuffix(".*") in _names("dangerous"):
            yield _approve("hidden-name", "Which part of a module is used is known only at run time.")
        elif _pattern("senders").match(name):
            yield from self.sending(name, site)

    def looked_up(self, owner: ast.expr, name: ast.expr) -> Iterator[FirewallVerdict]:
        """A part of a dangerous module by a name that is made at run time."""
        if not isinstance(name, ast.Constant):
            values = self.flow.values(owner)
            sure = all(isinstance(one, Ref) and one.name in _names("dangerous") for one in values)
            yield (_deny if sure else _approve)("hidden-name", "A dangerous name is put together at run time.")

    def is_plain(self, node: ast.expr) -> bool:
        """Whether an expression is a function of the code itself, or a text that is harmless as code."""
        values = self.flow.values(node)
        texts = [_parse(_shown(one.value)) for one in values if isinstance(one, Text)]
        inner = [_Visitor(self.context).judge(one) for one in texts if isinstance(one, ast.Module)]
        return all(isinstance(one, Func | Klass | Text) for one in values) and (
            len(inner) == len(texts) and all(worst(one).decision == "allow" for one in inner)
        )

    def evaluated(self, name: str, argument: ast.expr | None, text: str | None) -> Iterator[FirewallVerdict]:
        """eval, exec and compile: text that is known is judged, decoded text is refused."""
        if name != "compile" and argument is not None and _pattern("decoders").search(ast.unparse(argument)):
            yield _deny("decoded-code", f"{name} runs text that was decoded or fetched.")
        elif name != "compile" and text is not None:
            inner = _parse(text)
            unread = [_approve("dynamic", f"{name} runs text.")]
            yield worst(_Visitor(self.context).judge(inner) if isinstance(inner, ast.Module) else unread)
        elif text is None:
            yield _approve("dynamic", f"{name} runs text as code.")

    def sending(self, name: str, site: Site) -> Iterator[FirewallVerdict]:
        """A call that reaches other machines."""
        self.has_socket |= name.startswith("socket.")
        given = [*site.args[:2], *(k.value for k in site.keywords if k.arg in ("url", "host", "address"))]
        targets = [text for one in given for text in self.texts_in(one) if "://" in text]
        away = [one for one in targets if not _pattern("local").match(one)]
        # Talking to itself, as servers' own scripts do, sends nothing out.
        self.sends |= bool(away) or not targets
        yield from self.host(name, given)
        for target in away:
            if "169.254.169.254" in target or "metadata.google" in target:
                yield _deny("metadata", "Reads the machine's metadata service.")
            yield _approve("network", f"{name} talks to {target.split('/')[2]}.")

    def host(self, name: str, given: list[ast.expr]) -> Iterator[FirewallVerdict]:
        """A machine that is named without an address: ('203.0.113.7', 80)."""
        if not name.startswith(tuple(_names("named_hosts"))):
            return
        for one in given:
            first = (self.flow.member(value, frozenset({Text(0)})) for value in self.flow.values(one))
            hosts = [value.value for values in first for value in values if isinstance(value, Text)]
            for text in [*map(_shown, hosts), *self.texts_in(one)]:
                if re.fullmatch(r"[\w-]+(\.[\w-]+)+", text) and not _pattern("local_host").match(text):
                    yield _approve("network", f"{name} talks to {text}.")

    def decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[FirewallVerdict]:
        """@exec and its like run what stands below them."""
        for decorator in node.decorator_list:
            for name in self.names(decorator):
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
            # `builtins.open` is called `open` elsewhere, but only setting it there is a hook.
            bases = self.names(owner.value) if isinstance(owner, ast.Attribute) else set()
            names = {f"{base}.{owner.attr}" for base in bases} if isinstance(owner, ast.Attribute) else set()
            hooks = names & _names("hooks")
            for name in hooks if not (hooks == {"sys.modules"} and isinstance(node, ast.Delete)) else ():
                yield _approve("hooks", f"Changing {name} changes what later imports and calls do.")
            if "os.environ" in names and isinstance(target, ast.Subscript):
                key = self.text_in(target.slice) or ""
                if key in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONSTARTUP", "BASH_ENV", "GIT_SSH_COMMAND"):
                    yield _approve("environment", f"Setting {key} changes what later programs run.")

    def files(self, name: str, site: Site, first: str | None) -> Iterator[FirewallVerdict]:
        args = site.args
        mode = self.text_in(site.argument(1, "mode"))
        if name in ("open", "io.open", "codecs.open", "aiofiles.open") and first and mode and set(mode) & set("wax+"):
            yield judge_write(first, None, self.context)
        elif name in _names("removers") and args:
            home = re.search(r"expanduser|home\(\)", ast.unparse(args[0]))
            target = first or ("~" if home else None)
            yield judge_root(target, None, self.context) if target else ALLOW
        elif name in _names("path_acts") and first:
            yield judge_write(first, None, self.context)
        elif name in _names("writers") and len(args) > 1 and (target := self.text_in(args[1])):
            yield judge_write(target, None, self.context)
        elif isinstance(site.node, ast.Call) and getattr(site.node.func, "attr", "") in _names("path_methods"):
            owner = getattr(site.node.func, "value", None)
            if isinstance(owner, ast.Call) and owner.args and (target := self.text_in(owner.args[0])):
                yield judge_write(target, None, self.context)

    def attribute(self, node: ast.Attribute) -> Iterator[FirewallVerdict]:
        names = self.names(node)
        if node.attr in _names("insides"):
            chain = ast.unparse(node)
            if node.attr in _names("reaching") or chain.count("__") >= 4:
                yield _deny("insides", f"Reaches into Python's insides ({node.attr}).")
        for name in (
            (names & _names("hooks")) - {"sys.modules"} if isinstance(self.parents.get(node), ast.Attribute) else ()
        ):
            yield _approve("hooks", f"Changing {name} changes what later imports and calls do.")
        if "os.environ" in names and self.is_whole(node):
            self.reads_secrets = True
            above: ast.AST | None = node
            for _ in range(4):
                above = self.parents.get(above) if above is not None else None
                if isinstance(above, ast.FormattedValue) or (
                    isinstance(above, ast.Call) and self.names(above.func) & _names("serialisers")
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
        called = (self.names(part.func) for part in ast.walk(node) if isinstance(part, ast.Call))
        if endless and any(names & {"os.fork", "os.forkpty"} for names in called):
            yield _deny("fork-bomb", "Starts processes without end.")

    def text(self, value: str) -> Iterator[FirewallVerdict]:
        if len(value) < 400 and is_secret(value):
            self.reads_secrets = True
            verdict = _deny if "docker.sock" in value or value.startswith("/proc/") else _approve
            yield verdict("secret-path", f"Names {value!r}, which holds secrets.")

    def program(self, name: str, argument: ast.expr | None) -> FirewallVerdict:
        texts, complete = self.flow.texts(argument)
        judged = [judge_command(_shown(text), self.context, CODE_JUDGES, 1) for text in texts]
        if isinstance(argument, ast.List | ast.Tuple):
            parts = [self.text_in(element) for element in argument.elts]
            if not parts or parts[0] is not None or "sys.executable" in self.names(argument.elts[0]):
                unknown = ["python", *("VALUE" for _ in parts)]
                text = shlex.join(other if part is None else part for part, other in zip(parts, unknown, strict=False))
                return judge_command(text, self.context, CODE_JUDGES, 1)
        elif isinstance(argument, ast.JoinedStr) and not texts:
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "VALUE" for v in argument.values)
            judged = [judge_command(text, self.context, CODE_JUDGES, 1)]
        if not (texts and complete):
            judged.append(_approve("subprocess", f"{name} starts a program known only at run time."))
        return worst(judged)


def _shown(value: str | bytes | int) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


CODE_JUDGES = CodeJudges(judge_code, judge_javascript)
