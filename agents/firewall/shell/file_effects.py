"""What commands do to files: writing, removing, linking, packing — and where."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.firewall.base import ALLOW, FirewallContext, FirewallVerdict, table
from agents.firewall.paths import is_secret, judge_root, judge_write, normal
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.tables import names, rules

_LAYER = "command"
URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CODE = "py|js|ts|tsx|jsx|go|rs|java|c|cc|cpp|h|hpp|rb|php|cs|kt|swift"
_DISK = re.compile(r"^/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|loop|md|dm-)")
_NET_DEVICE = re.compile(r"^/dev/(tcp|udp)/")


def deny(rule: str, reason: str) -> FirewallVerdict:
    """A denial of this layer."""
    return FirewallVerdict("deny", _LAYER, reason, f"command.{rule}")


def approve(rule: str, reason: str) -> FirewallVerdict:
    """A question to a person."""
    return FirewallVerdict("approve", _LAYER, reason, f"command.{rule}")


class FileEffects:
    """Judges the files that one script touches; the folder follows its `cd` (None: known only at run time)."""

    def __init__(self, context: FirewallContext) -> None:
        """Start in the workspace."""
        self.context = context
        self.folder: str | None = posixpath.normpath(context.workspace)

    def simple(self, simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge a command that find would run; the judge of whole commands answers."""
        raise TypeError("FileEffects judges files only; use the judge of commands")

    def write_to(self, word: Word, *, adds: bool = False, narrow: bool = False) -> FirewallVerdict:
        """Judge one file that is written; `adds` and `narrow` as in `judge_write`."""
        text = word.text
        if _NET_DEVICE.match(text):
            return deny("network-device", "Opens a network connection through the shell.")
        if _DISK.match(text):
            return deny("raw-disk", "Writes to a disk device.")
        if not word.literal:
            # $HOME is known to lead outside; other variables stay inside the sandbox's own limits.
            return (
                judge_write(text.replace("$HOME", "~", 1), self.folder, self.context, adds=adds, narrow=narrow)
                if text.startswith(("$HOME", "/", "~"))
                else ALLOW
            )
        return judge_write(text, self.folder, self.context, adds=adds, narrow=narrow)

    def find(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge what find runs, removes and writes, and below which folders."""
        texts = [word.text for word in arguments]
        starts: list[Word] = []
        options = next((i for i, text in enumerate(texts) if text not in ("-L", "-H", "-P")), 0)
        for word in arguments[options:]:
            if word.text.startswith(("-", "(", "!", "\\", "&")):
                break
            starts.append(word)
        runs: list[list[Word]] = []
        for index, text in enumerate(texts):
            if text in ("-exec", "-execdir", "-ok", "-okdir"):
                rest = arguments[index + 1 :]
                end = next((i for i, word in enumerate(rest) if word.text in (";", "\\;", "+")), len(rest))
                runs.append(list(rest[:end]))
            if text in ("-fprint", "-fprintf", "-fls") and index + 1 < len(arguments):
                yield self.write_to(arguments[index + 1], adds=True)
        removes = "-delete" in texts or any(
            run and run[0].text.rpartition("/")[2] in ("rm", "shred", "unlink", "mv", "chmod", "chown") for run in runs
        )
        narrowed = any(
            re.match(
                r"-(i?name|i?path|i?wholename|i?regex|inum|[acm]time|[acm]min|newer|user|group|nouser|nogroup|uid|gid|used|anewer|cnewer|size|empty|perm|links|samefile|xtype|prune|mindepth|maxdepth)",
                text,
            )
            for text in texts
        )
        changing = {run[0].text.rpartition("/")[2] for run in runs if run}
        only_modes = (
            "-delete" not in texts and not changing & {"rm", "shred", "unlink", "mv"} and (narrowed or "-type" in texts)
        )
        if removes:
            for start in starts or [Word(".")]:
                if only_modes and changing == {"chmod"} and all(mild(run) for run in runs):
                    verdict = self.write_to(start)
                    yield verdict if verdict.decision == "deny" else ALLOW
                elif narrowed or only_modes or ("-type" in texts and not self.is_workspace(start.text)):
                    verdict = self.write_to(start, adds=only_modes, narrow=True)
                    if only_modes and start.text != "/" and all(_only_owner(run) for run in runs if run):
                        verdict = verdict if verdict.decision == "deny" else ALLOW
                    whole = start.text in ("/", "~", "$HOME") and not any(
                        re.match(r"-(i?name|i?path|i?regex|inum|user)", text) for text in texts
                    )
                    yield (
                        deny("whole-tree", f"Changes files all over {start.text}.")
                        if whole
                        else _softer(verdict, start.text)
                    )
                elif changing == {"mv"} and not start.text.startswith(("/", "~", "..")):
                    continue  # moves inside the workspace; where they lead is judged with the command itself
                else:
                    yield self.tree(start, stays=changing <= {"chown", "chmod", "chgrp"} and "-delete" not in texts)
        if (
            removes
            and not only_modes
            and changing <= {"rm", "shred", "unlink"}
            and any(
                re.fullmatch(r"(\*|\*\.(" + _CODE + r")|\.git)", after)
                for before, after in pairwise(texts)
                if before in ("-name", "-iname")
            )
        ):
            yield approve("whole-files", "find removes the sources of the project.")
        for run in runs:
            if run:
                yield from self.simple(SimpleCommand(words=run))

    def tree(self, word: Word, *, stays: bool = False) -> FirewallVerdict:
        """Judge a path that is removed or changed with all below it; `stays`: only owner or mild rights change."""
        text = word.text
        if not word.literal and not text.startswith(("$HOME", "${HOME}", "/")):
            return (
                ALLOW
                if not re.fullmatch(r"\$\{?\w+\}?/?\*?", text)
                else approve("unknown-tree", f"Removes {text}, known only at run time.")
            )
        base = (text.removesuffix("*").rstrip("/") or "/") if text.startswith("/") else text.removesuffix("*") or "."
        whole = normal(base, self.folder or self.context.workspace)
        if whole == posixpath.normpath(self.context.workspace) and stays:
            return ALLOW
        if whole == posixpath.normpath(self.context.workspace):
            return approve("whole-workspace", f"{text} is everything in the workspace.")
        return judge_root(text, self.folder, self.context, stays=stays)

    def is_workspace(self, text: str) -> bool:
        """Whether a path is the workspace itself."""
        root = posixpath.normpath(self.context.workspace)
        return normal(text, self.folder or root) == root

    def tar(self, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        """Judge where tar unpacks to, what it writes and starts."""
        texts = [word.text for word in arguments]
        for index, word in enumerate(arguments[:-1]):
            extracting = any(re.match(r"-?[a-zA-Z]*x", text) or text in ("--extract", "--get") for text in texts[:2])
            if word.text in ("-C", "--directory") and extracting:
                yield self.write_to(arguments[index + 1], adds=True)
            if re.fullmatch(r"-?[a-zA-Z]*c[a-zA-Z]*f|-f", word.text) and not extracting and "t" not in texts[0]:
                yield (
                    self.write_to(arguments[index + 1], adds=True)
                    if not is_remote(arguments[index + 1].text)
                    else approve("network", "tar writes to another machine.")
                )

    def writes(self, name: str, arguments: Sequence[Word], plain: Sequence[Word]) -> Iterator[FirewallVerdict]:
        """Judge the targets of the commands in the table of writers."""
        where = rules()["writes"][name]
        options = "".join(word.text for word in arguments if word.text.startswith("-"))
        recursive = "recursive" in options or bool(re.search(r"[rR]", re.sub(r"--\w[\w-]*", "", options)))
        targets = {"last": plain[-1:], "first": plain[:1], "rest": plain[1:]}.get(where, plain)
        for word in arguments:
            if word.text.startswith("--target-directory="):
                targets = [Word(word.text.partition("=")[2], word.literal)]
        if name in ("cp", "mv", "ln", "install"):
            for index, word in enumerate(arguments[:-1]):
                if word.text in ("-t", "-ut", "-vt"):
                    targets = [arguments[index + 1]]
                    plain = [*(one for one in plain if one is not arguments[index + 1]), arguments[index + 1]]
                    targets = plain if name == "mv" else targets
        if name in ("cp", "ln", "mv", "rsync") and any(is_secret(word.text) for word in plain[:-1]):
            yield deny("secret", f"{name} takes a file that holds secrets.")
        if (
            name == "shred"
            or (
                name in ("truncate", "rm")
                and any(
                    word.text in names("sets", "source_folders") or re.search(r"\*\.(" + _CODE + r")$", word.text)
                    for word in plain
                )
            )
        ) and (recursive or name != "rm" or any("*" in w.text for w in plain)):
            yield approve("whole-files", f"{name} takes the sources of the project.")
        if name == "ln" and "s" in options and any(_leads_out(word.text, self.context) for word in plain[:-1]):
            yield approve("link-out", "The link leads out of the workspace.")
        for word in targets:
            if (
                name in ("rm", "shred", "mv") or (name in ("chmod", "chown", "chgrp", "setfacl") and recursive)
            ) and _is_tree(word.text, recursive, name):
                stays = name in ("chown", "chgrp") or (name == "chmod" and mild([Word(name), *arguments]))
                yield self.tree(word, stays=stays)
            elif name == "mv" and word is not plain[-1] and self.is_workspace(word.text):
                yield self.tree(word)
            elif name == "mv" and word is not plain[-1]:
                yield _softer(self.write_to(word, narrow=True), word.text)
            else:
                if name == "chmod" and not recursive and mild([Word(name), *arguments]):
                    verdict = self.write_to(word)
                    yield verdict if verdict.decision == "deny" else ALLOW
                    continue
                adds = name not in ("rm", "rmdir", "unlink", "shred", "truncate", "chattr", "rename")
                yield self.write_to(word, adds=adds)


def mild(run: Sequence[Word]) -> bool:
    """Whether a chmod gives nobody more than the usual: no rights for all to write, no other user's, none to nobody."""
    modes = [
        word.text
        for word in run[1:]
        if re.fullmatch(r"0?[0-7]{3}|[ugoa]*[-+=][rwxX]+(,[ugoa]*[-+=][rwxX]*)*", word.text)
    ]
    return len(modes) == 1 and not re.search(r"[2367]$|000|[oa]\S*[+=]\S*w|^[+=]\S*w|-r", modes[0])


def _only_owner(run: Sequence[Word]) -> bool:
    """Whether a command changes owners only, which nobody without rights can."""
    return run[0].text.rpartition("/")[2] in ("chown", "chgrp", "echo", "ls")


def _softer(verdict: FirewallVerdict, path: str) -> FirewallVerdict:
    """Narrowed removals in system folders still ask; only whole trees are refused."""
    if verdict.rule == "path.system":
        return FirewallVerdict("approve", verdict.layer, f"{path} is outside the workspace.", "path.outside-workspace")
    return verdict


def _is_tree(text: str, recursive: bool, name: str) -> bool:
    return recursive or text.rstrip("/").endswith("*") or (name == "mv" and (text in table("paths.toml")["roots"]))


def _leads_out(text: str, context: FirewallContext) -> bool:
    root = posixpath.normpath(context.workspace)
    return text.startswith(("/", "~")) and not (normal(text, root) + "/").startswith(root + "/")


def is_remote(text: str) -> bool:
    return bool(re.match(r"^(\w[\w.-]*@)?[\w.-]+:(?!\\)", text)) or bool(URL.match(text))
