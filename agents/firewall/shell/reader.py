"""Read shell text with the Bash grammar into simple commands, with their words evaluated as far as possible."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.firewall.shell.expansion import Variables, output
from agents.firewall.shell.grammar import descendants, in_background, repairs, tree_of, without_backquotes
from agents.firewall.shell.script import Script, SimpleCommand, Unparsable, Word
from agents.firewall.shell.tables import names
from agents.firewall.shell.words import SUBSTITUTIONS, WordReader

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_COMMAND = 20_000  # characters
_MAX_NODES = 5_000
_MANY = 1_000  # a loop that starts so many programs in the background is a bomb
_ENDLESS = frozenset({"true", ":", "1"})
_ASSIGNING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


def parse(text: str) -> Script:
    """Split a command line into what would be run. Raises `Unparsable`."""
    if len(text) > MAX_COMMAND or "\0" in text:
        raise Unparsable("too long" if len(text) > MAX_COMMAND else "contains NUL")
    script = Script()
    try:
        _Reader(script, Variables()).read(text)
    except RecursionError as error:
        raise Unparsable("too deeply nested") from error
    return script


class _Reader(WordReader):
    """Walks one tree in the order of execution, remembering what variables hold."""

    def read(self, text: str) -> SimpleCommand | None:
        """Add the commands of a text to the script; the last one is returned."""
        text = without_backquotes(text)
        self.source = text.encode("utf-8", "surrogatepass")
        root = tree_of(self.source).root_node
        if root.has_error:
            for pattern, replacement in repairs():
                text = pattern.sub(replacement, text)
            source = text.encode("utf-8", "surrogatepass")
            repaired = tree_of(source).root_node
            if not repaired.has_error:
                self.source, root = source, repaired
        self.script.opaque |= root.has_error
        return self.node(root, None)

    def node(self, node: Node, piped_from: SimpleCommand | None) -> SimpleCommand | None:
        """Read one statement; its last command is returned."""
        self.script.nodes += 1
        if self.script.nodes > _MAX_NODES:
            raise Unparsable("too many parts")
        kind = node.type
        if kind in ("command", "declaration_command", "unset_command", "test_command", "variable_assignments"):
            return self.command(node, piped_from, ())
        if kind == "variable_assignment":
            return self.command(node, piped_from, (), children=[node])
        if kind == "redirected_statement":
            return self.redirected(node, piped_from)
        if kind in _REDIRECTS:
            return self.carrier([node])
        if kind == "function_definition":
            self.function(node)
            return None
        if kind in names("grammar", "words"):
            self.words([node])
            return None
        if kind in ("comment", "heredoc_body"):
            return None
        if kind == "for_statement":
            self.loop_over(node)
        if kind in ("while_statement", "for_statement", "c_style_for_statement"):
            self.judge_loop(node)
        return self.parts(node, piped_from)

    def parts(self, node: Node, piped_from: SimpleCommand | None) -> SimpleCommand | None:
        last = piped_from
        if node.type == "ERROR":
            return self.stray(node, piped_from)
        looped = node.children_by_field_name("value") if node.type == "for_statement" else []
        for part in node.named_children:
            if part not in looped and not (node.type == "for_statement" and part.type == "variable_name"):
                last = self.node(part, last if node.type == "pipeline" else piped_from) or last
        return last

    def stray(self, node: Node, piped_from: SimpleCommand | None) -> SimpleCommand | None:
        """Words that the grammar could not place are read as a command of their own."""
        last = piped_from
        run: list[Node] = []
        for part in [*node.children, None]:
            if part is not None and (part.type in names("grammar", "words") or part.type == "command_name"):
                run.append(part)
                continue
            if run:
                last = self.command(node, piped_from, (), children=run)
                run = []
            if part is not None and part.is_named:
                last = self.node(part, piped_from) or last
        return last

    def redirected(self, node: Node, piped_from: SimpleCommand | None) -> SimpleCommand | None:
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        last: SimpleCommand | None
        if body is None:
            last = self.carrier(redirects)
        elif body.type in ("command", "declaration_command", "test_command"):
            last = self.command(body, piped_from, redirects)
        elif body.type == "pipeline" and body.named_children[-1].type == "command":
            # The grammar puts the redirections of the last command outside the pipe.
            last = piped_from
            for part in body.named_children[:-1]:
                last = self.node(part, last)
            last = self.command(body.named_children[-1], last, redirects)
        else:
            last = self.node(body, piped_from)
            self.carrier(redirects)
        for redirect in redirects:
            last = self.after_here_document(redirect, last) or last
        return last

    def after_here_document(self, redirect: Node, last: SimpleCommand | None) -> SimpleCommand | None:
        """What follows `<<EOF` on its line: the rest of the pipe, or of the list."""
        for part in redirect.named_children if redirect.type == "heredoc_redirect" else ():
            if part.type not in ("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", *_REDIRECTS):
                last = self.node(part, last if part.type == "pipeline" else None) or last
        return last

    def carrier(self, redirects: Sequence[Node]) -> SimpleCommand | None:
        """A command without words, for redirections of a group or of nothing."""
        found = SimpleCommand()
        for redirect in redirects:
            self.redirect(redirect, found)
        if found.writes or found.reads or found.text_in is not None:
            self.script.commands.append(found)
        return found

    def function(self, node: Node) -> None:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        name = self.raw(name_node) if name_node is not None else ""
        self.script.functions.add(name)
        first = len(self.script.commands)
        if body is not None:
            self.node(body, None)
        for redirect in node.children_by_field_name("redirect"):
            self.node(redirect, None)
        own = [command for command in self.script.commands[first:] if command.name == name]
        if own and (any(command.piped_from in own for command in own) or in_background(node)):
            self.script.fork_bomb = True

    def loop_over(self, node: Node) -> None:
        variable, values = node.child_by_field_name("variable"), node.children_by_field_name("value")
        items = [word for group in self.groups(values) for word in self.words(group)]
        known = all(item.literal for item in items) and len(items) <= 20
        if variable is not None and values:
            # All values together: each is judged where the variable is used.
            self.variables.set(self.raw(variable), " ".join(item.text for item in items) if known else None)

    def judge_loop(self, node: Node) -> None:
        inside = [self.raw(part) for part in descendants(node) if part.type in ("word", "number")]
        head, keyword = self.raw(node).partition(" do")[0], node.children[0].type
        if keyword in ("while", "until"):
            endless = inside[:1] == ["false"] if keyword == "until" else bool(_ENDLESS & set(inside[:1]))
            bomb = endless and not {"sleep", "wait", "read", "nc"} & set(inside)
        else:
            endless = bool(re.match(r"for\s*\(\(\s*;\s*;", head))
            counts = re.findall(r"(?:seq\D*?(?:\d+ )*|\.\.|<=?\s*)(\d{1,9})", head)
            bomb = endless or any(int(count) >= _MANY for count in counts)
        if bomb and in_background(node):
            self.script.fork_bomb = True
        elif endless and not names("commands", "pauses") & {word.rpartition("/")[2] for word in inside}:
            self.script.endless = True

    def command(
        self,
        node: Node,
        piped_from: SimpleCommand | None,
        redirects: Sequence[Node],
        children: Sequence[Node] | None = None,
    ) -> SimpleCommand:
        found = SimpleCommand(piped_from=piped_from)
        inside = node.children if children is None else children
        pairs, named = self.split(node, inside, found)
        if node.type == "test_command":
            words = names("grammar", "words")
            named = [leaf for leaf in descendants(node, stop=words) if leaf.type in words or not leaf.children]
        starts = {part.start_byte for part in [*inside, *redirects] if part.type in _REDIRECTS}
        # sh 0<&2: the grammar takes some descriptors for arguments.
        named = [part for part in named if part.end_byte not in starts or not self.raw(part).isdigit()]
        for group in self.groups(named):
            if not found.words:
                found.built = self.is_built(group)
            found.words += self.words(group)
        while len(found.words) > 1 and named and self.raw(named[0]) in ("time", "coproc"):  # keywords, unless quoted
            named = named[1:]
            del found.words[: 2 if found.words[1].text == "-p" else 1]
        for redirect in redirects:
            self.redirect(redirect, found)
        self.remember(found, pairs)
        self.script.commands.append(found)
        return found

    def is_built(self, group: Sequence[Node]) -> bool:
        """Whether another command makes the first word of a command."""
        prompt = self.raw(group[0]).startswith("$ ")  # a prompt that was copied along
        return not prompt and not SUBSTITUTIONS.isdisjoint(part.type for one in group for part in descendants(one))

    def split(
        self, node: Node, inside: Sequence[Node], found: SimpleCommand
    ) -> tuple[list[tuple[str, str | None]], list[Node]]:
        """The assignments of a command and its words; what else is in it is read at once."""
        pairs: list[tuple[str, str | None]] = []
        named: list[Node] = []
        kinds = names("grammar", "words") | {"command_name", "variable_assignment"}
        for part in inside:
            if part.type == "variable_assignment" and node.type != "declaration_command":
                pairs.append(self.assignment(part, found))
            elif part.type in _REDIRECTS:
                self.redirect(part, found)
            elif part.type == "ERROR":
                for one in part.children:
                    if one.type in names("grammar", "words"):
                        named.append(one)
                    elif one.is_named:
                        self.node(one, None)
            elif part.is_named and part.type not in kinds and node.type != "test_command":
                self.node(part, None)  # time (…): a group where the grammar expects an argument
            else:
                named.append(part)
        return pairs, named

    def assignment(self, node: Node, found: SimpleCommand) -> tuple[str, str | None]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        written = self.raw(name) if name is not None else ""
        append = "+" if any(part.type == "+=" for part in node.children) else ""
        if value is not None and value.type == "array":
            for part in value.named_children:
                self.words([part])
            words = [Word("$list", False)]
        else:
            words = self.words([value]) if value is not None else []
        text = " ".join(word.text for word in words)
        found.assigned.append(f"{written}{append}={text}")
        return written + append, text if all(word.literal for word in words) else None

    def remember(self, found: SimpleCommand, pairs: list[tuple[str, str | None]]) -> None:
        if not found.words:
            for name, value in pairs:
                self.variables.set(name, value)
        elif found.name in _ASSIGNING:
            for word in found.words[1:]:
                name, joint, value = word.text.partition("=")
                if joint:
                    self.variables.set(name, value if word.literal else None)
        elif found.name in ("read", "mapfile", "readarray"):
            for word in found.words[1:]:
                if not word.text.startswith("-"):
                    self.variables.set(word.text, found.text_in)
        elif found.name == "printf" and len(found.words) > 3 and found.words[1].text == "-v":
            printed = SimpleCommand(words=[found.words[0], *found.words[3:]])
            self.variables.set(found.words[2].text, output(printed))

    def redirect(self, node: Node, found: SimpleCommand) -> None:
        if node.type == "heredoc_redirect":
            self.here_document(node, found)
            return
        marks = {part.type for part in node.children if not part.is_named}
        for part in node.named_children:
            if part.type == "file_descriptor" and not self.raw(part).strip("{}").isalnum():
                found.words.append(Word(self.raw(part)))  # head -200>file
        targets = [part for part in node.named_children if part.type not in ("file_descriptor", "ERROR")]
        for index, group in enumerate(self.groups(targets)):
            words = self.words(group) or [Word("")]
            if index:  # the grammar gives the arguments that follow a redirection to it
                found.words += words
            elif node.type == "herestring_redirect":
                known = all(word.literal for word in words)
                found.text_in = " ".join(word.text for word in words) if known else None
                found.blind_in = not known
            elif "<" in marks:
                found.reads += words
            else:
                copies = bool(marks & {">&", "<&"})
                found.writes += [word for word in words if not (copies and re.fullmatch(r"\d+|-", word.text))]

    def here_document(self, node: Node, found: SimpleCommand) -> None:
        parts = {part.type: part for part in node.named_children}
        for part in node.named_children:
            if part.type in _REDIRECTS:
                self.redirect(part, found)
        if "heredoc_body" not in parts:
            found.blind_in = True
            return
        body = parts["heredoc_body"]
        found.text_in = self.raw(body).rstrip("\n")
        if "heredoc_start" in parts and not re.search(r"[\"'\\]", self.raw(parts["heredoc_start"])):
            # The shell runs what is in the text, as within double quotes.
            for part in descendants(body, stop=SUBSTITUTIONS):
                if part.type in SUBSTITUTIONS:
                    self.substitution(part, self.raw(part), True)
