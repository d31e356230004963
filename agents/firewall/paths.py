"""Which paths an agent may name and write. Judged by what a path reaches, not by how it is spelt."""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from fnmatch import fnmatchcase
from functools import partial
from urllib.parse import unquote

from agents.firewall.base import ALLOW, FirewallContext, FirewallVerdict, layer_verdicts, pattern_in, table

deny, approve = layer_verdicts("path")
_MAX_PATH, _MAX_PART = 4096, 255
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\u180e]")
HOME = "/root-or-home"
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


def judge_path(path: str, context: FirewallContext) -> FirewallVerdict:
    """A path that the agent wants to create or change, as it wrote it."""
    odd = _odd_spelling(path)
    if odd:
        return odd
    full = normal(path, context.workspace)
    root = posixpath.normpath(context.workspace)
    if full != root and not full.startswith(root + "/"):
        return deny("outside-workspace", f"{path!r} is outside the workspace {root}; use a path inside it.")
    if full == root:
        return deny("workspace-itself", "The path is the workspace itself; name a file inside it.")
    inside = full[len(root) + 1 :]
    if any(_is_git(part) for part in [*inside.split("/"), *path.split("/")]):
        return deny("git-internals", "Files inside .git are changed by git only.")
    # The written form too: behind a link, ".." leads elsewhere than the text says.
    if _leaves_by_link(full, root) or _leaves_by_link(posixpath.join(root, path), root):
        return deny("link", f"{path!r} leads out of the workspace through a link.")
    if path_pattern("ask").search(inside):
        return approve("machinery", f"{inside} steers machinery outside the task.")
    return ALLOW


def _odd_spelling(path: str) -> FirewallVerdict | None:
    if not path or not path.strip():
        return deny("empty", "The path is empty.")
    if "\0" in path or any(ord(c) < 32 or ord(c) == 127 for c in path):
        return deny("control-character", "The path contains a control character.")
    if _INVISIBLE.search(path):
        return deny("invisible-character", "The path contains an invisible or direction-changing character.")
    if any("\ud800" <= c <= "\udfff" for c in path):
        return deny("encoding", "The path is not valid text.")
    if len(path.encode()) > _MAX_PATH or any(len(part.encode()) > _MAX_PART for part in path.split("/")):
        return deny("too-long", f"The path is longer than {_MAX_PATH} bytes, or a name in it than {_MAX_PART}.")
    return _other_meaning(path)


def _other_meaning(path: str) -> FirewallVerdict | None:
    """Refuse a path that another program reads as another one."""
    if "\\" in path or _DRIVE.match(path):
        return deny("backslash", "The path uses backslashes or a drive letter; use forward slashes.")
    if path.startswith("~") or "$" in path or "`" in path:
        return deny("expansion", "The path would be expanded by a shell; write it out.")
    # Other layers may decode or fold once more; what then becomes an escape is one.
    for other in (unquote(path), unquote(unquote(path)), unicodedata.normalize("NFKC", path)):
        if other != path and (
            ".." in other.replace("\\", "/").split("/")
            or other.startswith("/") != path.startswith("/")
            or "\0" in other
        ):
            return deny("encoded-escape", "The path hides an escape in an encoding.")
    return None


def _is_git(part: str) -> bool:
    folded = unicodedata.normalize("NFKC", part).casefold().rstrip(". ").partition(":")[0]
    return folded in (".git", "git~1")


def _leaves_by_link(full: str, root: str) -> bool:
    if not os.path.isdir(root):
        return False
    real_root = os.path.realpath(root)
    return not (os.path.realpath(full) + "/").startswith(real_root + "/")


def normal(path: str, folder: str) -> str:
    """The path with dots resolved, relative ones taken from `folder`; `~` is a folder of its own."""
    if path.startswith("~"):
        return posixpath.normpath(HOME + "/" + path[1:].lstrip("/"))
    full = posixpath.normpath(posixpath.join(folder, path))
    return "/" + full.lstrip("/")


path_pattern = partial(pattern_in, "paths.toml")


def below(path: str, folders: list[str]) -> bool:
    """Whether a normal path is one of the folders or inside one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def is_secret(path: str) -> bool:
    """Whether reading this path gives a secret away."""
    if path_pattern("secret").search(path):
        return True
    return any(char in path for char in "*?[") and _glob_meets_secret(path)


def _glob_meets_secret(path: str) -> bool:
    """Whether a pattern with wildcards is made to meet a well-known secret: part by part, enough letters given."""
    parts = path.replace("~", HOME, 1).strip("/").split("/") if path.startswith(("/", "~")) else []
    for known in table("paths.toml")["well_known"]:
        wanted = known.replace("~", HOME, 1).strip("/").split("/")
        if (
            len(parts) == len(wanted)
            and len(re.sub(r"[*?\[\]!^-]", "", parts[-1])) >= 2
            and all(fnmatchcase(name, pattern) for name, pattern in zip(wanted, parts, strict=True))
        ):
            return True
    return False


def judge_write(
    path: str, folder: str | None, context: FirewallContext, *, adds: bool = False, narrow: bool = False
) -> FirewallVerdict:
    """A path that a command or program writes; `folder` is its working folder, None when unknown.

    `adds`: the write removes nothing; `narrow`: it removes or changes only files of a certain kind. In the sandbox home
    is scratch space and folders that no system has are not there, so that such a write either stays inside or fails.
    """
    if "\0" in path:
        return deny("control-character", "A path contains a NUL character.")
    if path_pattern("persistence").search(path):
        return deny("persistence", f"{path} would make something run later, outside the task.")
    tables = table("paths.toml")
    full = normal(path, folder if folder is not None else context.workspace)
    if is_secret(full):
        return deny("secret", f"{path} holds secrets.")
    if any(_is_git(part) for part in full.split("/")):
        return deny("git-internals", "Files inside .git are changed by git only.")
    root = posixpath.normpath(context.workspace)
    if path_pattern("ask").search(full.removeprefix(root + "/")):
        return approve("machinery", f"{path} steers machinery outside the task.")
    if not below(full, [root]) and re.match(r"/(tmp|var/tmp|dev/shm)/(.*/)?\.", full):
        return approve("hidden", f"{path} is hidden in scratch space.")
    if below(full, [root, *tables["scratch"]]):
        return ALLOW
    if below(full, tables["system"]):
        return deny("system", f"{path} belongs to the system.")
    if adds and re.match(rf"({HOME}|/home/\w+|/Users/\w+)/", full) and "/." not in full:
        return ALLOW
    if (adds or narrow) and path.startswith("/") and full != "/" and _is_nowhere(full):
        return ALLOW
    return approve("outside-workspace", f"{path} is outside the workspace.")


def _is_nowhere(full: str) -> bool:
    return "/" + full.split("/")[1] not in table("paths.toml")["known"]


def judge_root(path: str, folder: str | None, context: FirewallContext, *, stays: bool = False) -> FirewallVerdict:
    """A path that is removed or changed as a whole tree; `stays`: only owner or mild rights change."""
    tables = table("paths.toml")
    written = path.replace("${HOME}", "~").replace("$HOME", "~").rstrip("/") or "/"
    full = normal(written, folder if folder is not None else context.workspace)
    if written in tables["roots"] or full in tables["roots"] or full == HOME or below(full, tables["system"]):
        return deny("whole-tree", f"{path} is an entire system or home folder.")
    return judge_write(written, folder, context, adds=stays, narrow=stays)
