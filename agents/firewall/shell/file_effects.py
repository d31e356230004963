"""What commands do to files: writing, removing, linking, packing — and where."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from agents.firewall.base import ALLOW, FirewallContext, FirewallVerdict, layer_verdicts, table
from agents.firewall.paths import is_secret, judge_root, judge_write, normal
from agents.firewall.shell.script import SimpleCommand, Word
from agents.firewall.shell.tables import names, pattern, rules

URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ALL_CODE = re.compile(r"\*\.(py|js|ts|tsx|jsx|go|rs|java|c|cc|cpp|h|hpp|rb|php|cs|kt|swift)\Z")
_MODE = re.compile(r"0?[0-7]{3}|[ugoa]*[-+=][rwxX]+(,[ugoa]*[-+=][rwxX]*)*")
_DISK = re.compile(r"^/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|loop|md|dm-)")
_NET_DEVICE = re.compile(r"^/dev/(tcp|udp)/")


deny, approve = layer_verdicts("command")


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
        if not word.literal and not text.startswith(("$HOME", "/", "~")):
            return ALLOW  # $HOME is known to lead outside; other variables stay inside the sandbox's own limits
        written = text if word.literal else text.replace("$HOME", "~", 1)
        return judge_write(written, self.folder, self.context, adds=adds, narrow=narrow)

    def written_options(self, name: str, arguments: Sequence[Word]) -> Iterator[FirewallVerdict]:
        """Judge the files that options name (table `written_options`)."""
        for option in rules()["written_options"].get(name, ()):
            for value in option_values(arguments, option):
                yield self.write_to(value, adds=name != "dd") if value.text else ALLOW

    def find(self, name: str, arguments: Sequence[Word], simple: SimpleCommand) -> Iterator[FirewallVerdict]:
        """Judge what find runs, removes and writes, and below which folders."""
        texts = [word.text for word in arguments]
        options = next((i for i, text in enumerate(texts) if text not in ("-L", "-H", "-P")), 0)
        starts = list(takewhile(lambda word: not word.text.startswith(("-", "(", "!", "\\", "&")), arguments[options:]))
        runs = list(_executed(arguments))
        changing = {run[0].text.rpartition("/")[2] for run in runs if run}
        deletes = "-delete" in texts or bool(changing & {"rm", "shred", "unlink", "mv"})
        if deletes or changing & {"chmod", "chown"}:
            for start in starts or [Word(".")]:
                yield from self.found_files(start, texts, runs, changing, deletes)
        sources = any(
            before in ("-name", "-iname") and (after in ("*", ".git") or _ALL_CODE.match(after))
            for before, after in pairwise(texts)
        )
        if deletes and sources and changing <= {"rm", "shred", "unlink"}:
            yield approve("whole-files", "find removes the sources of the project.")
        for run in filter(None, runs):
            yield from self.simple(SimpleCommand(words=run))

    def found_files(
        self, start: Word, texts: Sequence[str], runs: Sequence[list[Word]], changing: set[str], deletes: bool
    ) -> Iterator[FirewallVerdict]:
        """Judge the change of what find meets below one folder: `changing` programs run, or it `deletes`."""
        narrowed = any(pattern("find", "narrows").match(text) for text in texts)
        only_modes = not deletes and (narrowed or "-type" in texts)
        if only_modes and changing == {"chmod"} and all(mild(run) for run in runs):
            yield _denial_only(self.write_to(start))
        elif narrowed or only_modes or ("-type" in texts and not self.is_workspace(start.text)):
            if start.text in ("/", "~", "$HOME") and not any(pattern("find", "selects").match(text) for text in texts):
                yield deny("whole-tree", f"Changes files all over {start.text}.")
                return
            verdict = self.write_to(start, adds=only_modes, narrow=True)
            if only_modes and start.text != "/" and all(_only_owner(run) for run in runs if run):
                verdict = _denial_only(verdict)
            yield _softer(verdict, start.text)
        elif changing != {"mv"} or start.text.startswith(("/", "~", "..")):
            # Moves inside the workspace: where they lead is judged with the command itself.
            yield self.tree(start, stays=changing <= {"chown", "chmod", "chgrp"} and "-delete" not in texts)

    def tree(self, word: Word, *, stays: bool = False) -> FirewallVerdict:
        """Judge a path that is removed or changed with all below it; `stays`: only owner or mild rights change."""
        text = word.text
        if not word.literal and not text.startswith(("$HOME", "${HOME}", "/")):
            known = not re.fullmatch(r"\$\{?\w+\}?/?\*?", text)
            return ALLOW if known else approve("unknown-tree", f"Removes {text}, known only at run time.")
        base = (text.removesuffix("*").rstrip("/") or "/") if text.startswith("/") else text.removesuffix("*") or "."
        if self.is_workspace(base):
            return ALLOW if stays else approve("whole-workspace", f"{text} is everything in the workspace.")
        return judge_root(text, self.folder, self.context, stays=stays)

    def is_workspace(self, text: str) -> bool:
        """Whether a path is the workspace itself."""
        root = posixpath.normpath(self.context.workspace)
        return normal(text, self.folder or root) == root

    def writes(self, name: str, arguments: Sequence[Word], plain: Sequence[Word]) -> Iterator[FirewallVerdict]:
        """Judge the targets of the commands in the table of writers."""
        options = "".join(word.text for word in arguments if word.text.startswith("-"))
        recursive = "recursive" in options or bool(re.search(r"[rR]", re.sub(r"--\w[\w-]*", "", options)))
        targets, plain = _targets(name, arguments, plain)
        if name in ("cp", "ln", "mv", "rsync") and any(is_secret(word.text) for word in plain[:-1]):
            yield deny("secret", f"{name} takes a file that holds secrets.")
        if _takes_sources(name, plain, recursive):
            yield approve("whole-files", f"{name} takes the sources of the project.")
        if name == "ln" and "s" in options and any(_leads_out(word.text, self.context) for word in plain[:-1]):
            yield approve("link-out", "The link leads out of the workspace.")
        gentle = name == "chmod" and mild([Word(name), *arguments])
        last = plain[-1] if plain else None
        for word in targets:
            moved = name == "mv" and word is not last
            yield self._target(name, word, recursive=recursive, moved=moved, gentle=gentle)

    def _target(self, name: str, word: Word, *, recursive: bool, moved: bool, gentle: bool) -> FirewallVerdict:
        """Judge one target; `moved` from its place, `gentle` where only mild rights change."""
        by_tree = name in ("rm", "shred", "mv") or (name in ("chmod", "chown", "chgrp", "setfacl") and recursive)
        if (by_tree and _is_tree(word.text, recursive, name)) or (moved and self.is_workspace(word.text)):
            return self.tree(word, stays=name in ("chown", "chgrp") or gentle)
        if moved:
            return _softer(self.write_to(word, narrow=True), word.text)
        if gentle and not recursive:
            return _denial_only(self.write_to(word))
        adds = name not in ("rm", "rmdir", "unlink", "shred", "truncate", "chattr", "rename")
        return self.write_to(word, adds=adds)


def _targets(name: str, arguments: Sequence[Word], plain: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
    """The words that a command writes to, and its words without options, the target last."""
    where = rules()["writes"][name]
    targets = {"last": plain[-1:], "first": plain[:1], "rest": plain[1:]}.get(where, plain)
    for index, word in enumerate(arguments):
        if word.text.startswith("--target-directory="):
            targets = [Word(word.text.partition("=")[2], word.literal)]
        elif name in ("cp", "mv", "ln", "install") and word.text in ("-t", "-ut", "-vt") and arguments[index + 1 :]:
            target = arguments[index + 1]
            plain = [*(one for one in plain if one is not target), target]
            targets = plain if name == "mv" else [target]
    return targets, plain


def _takes_sources(name: str, plain: Sequence[Word], recursive: bool) -> bool:
    """Whether a command removes or empties the sources of the project."""
    all_of_it = any(word.text in names("sets", "source_folders") or _ALL_CODE.search(word.text) for word in plain)
    spread = recursive or name != "rm" or any("*" in word.text for word in plain)
    return spread and (name == "shred" or (name in ("truncate", "rm") and all_of_it))


def option_values(arguments: Sequence[Word], option: str) -> Iterator[Word]:
    """The values given to an option: the next word, what follows an equals sign, or the rest of `-oVALUE`."""
    for index, word in enumerate(arguments):
        if word.text == option:
            yield arguments[index + 1] if index + 1 < len(arguments) else Word("")
        elif word.text.startswith(option + "=") or (re.fullmatch(r"-.", option) and word.text.startswith(option)):
            yield Word(word.text[len(option) :].removeprefix("="), word.literal)


def _executed(arguments: Sequence[Word]) -> Iterator[list[Word]]:
    """The commands that find runs."""
    for index, word in enumerate(arguments):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            yield list(takewhile(lambda one: one.text not in (";", "\\;", "+"), arguments[index + 1 :]))


def _denial_only(verdict: FirewallVerdict) -> FirewallVerdict:
    """A mild change of rights or owners is fine wherever writing is not refused outright."""
    return verdict if verdict.decision == "deny" else ALLOW


def mild(run: Sequence[Word]) -> bool:
    """Whether a chmod gives nobody more than the usual: no rights for all to write, no other user's, none to nobody."""
    modes = [word.text for word in run[1:] if _MODE.fullmatch(word.text)]
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
