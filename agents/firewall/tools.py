"""Single programs with rules of their own: git, archives, packages, network, privilege and processes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.firewall.base import ALLOW, Verdict, rules, words
from agents.firewall.file_effects import URL, approve, deny, is_remote
from agents.firewall.package_tools import PackageTools
from agents.firewall.paths import is_secret
from agents.firewall.runners import after_options, chain
from agents.firewall.shell import Simple, Word

_READING = frozenset(
    {
        "ls",
        "find",
        "du",
        "df",
        "grep",
        "cat",
        "which",
        "locate",
        "updatedb",
        "lsof",
        "ps",
        "netstat",
        "ss",
        "head",
        "tail",
        "stat",
        "file",
        "wc",
        "id",
        "whoami",
        "echo",
        "date",
        "uptime",
        "lsusb",
        "lspci",
        "lsblk",
    }
)
_FILE_TOOLS = frozenset(
    {
        "chown",
        "chmod",
        "chgrp",
        "mkdir",
        "touch",
        "ln",
        "cp",
        "mv",
        "tar",
        "rsync",
        "cpio",
        "tee",
        "setfacl",
        "rm",
        "xargs",
        "gzip",
        "zip",
        "unzip",
    }
)
# Git's own verbs that run a program given to them, and where it stands.
_GIT_RUNS = {"rebase": ("--exec", "-x"), "difftool": ("-x", "--extcmd"), "grep": ("-O", "--open-files-in-pager"), "filter-branch": ("--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--parent-filter")}  # fmt: skip
_GIT_LOSES = re.compile(
    r"^(filter-branch|filter-repo|update-ref (-d|--delete)|reflog (expire|delete)|gc .*--prune=(now|all)|prune\b|push .*(-f|--force|--mirror|--delete)|symbolic-ref -d|replace|fast-import|rm .*(\s\.|\s\*|\s:/)$"
    r"|credential|daemon|http-backend|instaweb|cvsserver|shell|upload-archive|archive .*--remote|clean .*-\w*x|clean -\w*[xX]|stash (clear|drop)|branch .*-D\b.*(main|master|\$|\*)|checkout --orphan|rebase .*--root|reset --hard .*(~\d{2,}|\$\()|update-index .*--(assume-unchanged|skip-worktree)|(commit|push|merge) .*--no-verify|commit (.* )?-\w*n(\s|$)|commit .*--(author|date|reset-author|no-gpg-sign)|commit (-\S+ )*-[aqsve]*n[a-z]*(\s|$)|update-ref|notes prune|hash-object .*-w|commit-tree|symbolic-ref \S+ \S|branch (-f|--force) (main|master)|branch -M (?!main |master )\S+ (main|master)$|tag (-d|-f|--delete|--force)\b|switch --orphan|reset --hard 4b825dc|checkout (HEAD~\d{2,}|4b825dc\w*) -- \.$|read-tree|init .*--separate-git-dir|multi-pack-index|worktree remove .*\s\.$|prune-packed|mv (\./)?tests?/? |config .*(-e|--edit)$|config .*--unset\S* core\.hooks[pP]ath|branch -D$|rm -r.*\s(\.|src|\*|:/)/?$|apply .*--unsafe-paths|bundle .*(/|~)|worktree add (/|~|\.\.)|var|maintenance)"
)


def _own(text: str) -> bool:
    """Whether an address is this machine: in the sandbox a network of its own, with nobody else on it."""
    return bool(re.match(r"^([a-z]+://)?(\w[\w.-]*@)?(127\.0\.0\.1|localhost|\[::1\])([:/]|$)", text))


class Tools(PackageTools):
    """Judges the programs that the table of tools names."""

    def git(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """git: steering, network, lost history and programs that it runs."""
        texts = [word.text for word in arguments]
        for text in texts:
            key = text.partition("=")[0].casefold()
            if (
                key in words("git", "steering")
                or (
                    key.startswith(
                        ("alias.", "filter.", "url.", "pager.", "difftool.", "mergetool.", "merge.", "diff.")
                    )
                    and ("config" in texts or "-c" in texts)
                    and not key.endswith((".conflictstyle", ".renames", ".ff", ".tool", ".algorithm", ".colormoved"))
                )
            ) and (
                "--get" not in texts and "--unset" not in texts and not (texts[:1] == ["config"] and len(texts) == 2)
            ):
                yield deny("git-steering", f"{key} makes git run other programs.")
            if text.startswith(
                ("ext::", "--upload-pack", "--receive-pack", "--exec=/", "-u", "--template=/")
            ) and text.startswith(("ext::", "--u", "--r", "--t")):
                yield deny("git-steering", f"{text.partition('=')[0]} makes git run other programs.")
        rest = after_options(arguments, {"-c", "-C", "--git-dir", "--work-tree"})
        verb = rest[0].text if rest else ""
        # What a message says is no option.
        said = " ".join(
            word.text for word in rest if verb != "commit" or word.text.startswith("-") or " " not in word.text
        )
        if (
            verb in words("git", "network")
            and not (verb == "remote" and len(rest) <= 2)
            and not (verb == "submodule" and rest[1:2] and rest[1].text in ("status", "foreach", "summary"))
        ):
            yield approve("network", f"git {verb} talks to the network.")
        if _GIT_LOSES.match(said) or (verb == "clean" and "reflog" in texts):
            yield approve("git-history", f"git {verb} gives up history, runs programs or reaches outside.")
        if (
            verb == "config"
            and any(text in ("--global", "--system") for text in texts)
            and not any(t in ("--list", "-l", "--get") for t in texts)
        ):
            steering = [t for t in texts[1:] if not t.startswith("-")][:1]
            if steering and not steering[0].startswith(
                ("user.", "color.", "core.autocrlf", "init.defaultbranch", "init.defaultBranch")
            ):
                yield approve("git-config", "Changes git's settings outside the project.")
        sets = verb == "config" and len(rest) > 2 and not any(t.startswith("--get") for t in texts)
        if sets and (found := re.search(r"(?i)\s(" + rules()["git"]["weakening"] + r")\s+\S", said)):
            yield approve("git-config", f"{found[1]} changes what git records, or where it goes.")
        if verb == "bisect" and len(rest) > 2 and rest[1].text == "run":
            yield from self.run(rest[2:], simple)
        if verb == "submodule" and len(rest) > 2 and rest[1].text == "foreach":
            yield self.nested(" ".join(word.text for word in rest[2:] if word.text not in ("--recursive", "--quiet")))
        for option in _GIT_RUNS.get(verb, ()):
            for index, word in enumerate(rest):
                value = (
                    rest[index + 1].text
                    if word.text == option and index + 1 < len(rest)
                    else word.text.partition("=")[2]
                    if word.text.startswith(option + "=")
                    else word.text[2:]
                    if len(option) == 2 and word.text.startswith(option)
                    else ""
                )
                if value:
                    yield self.nested(value)

    def archive(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """tar, unzip, cpio, 7z: where they unpack to."""
        texts = [word.text for word in arguments]
        if name in ("tar", "bsdtar"):
            if any(
                text in ("-P", "--absolute-names", "--overwrite-dir") or re.fullmatch(r"-?[a-zA-Z]*P[a-zA-Z]*", text)
                for text in texts[:3]
            ) and any(re.match(r"-?[a-zA-Z]*x", t) for t in texts[:2]):
                yield approve("absolute-names", "tar writes wherever the archive says.")
            yield from self.tar(arguments)
            return
        for index, text in enumerate(texts):
            if text in ("-d", "-D", "--directory") and index + 1 < len(texts) and (name != "cpio" or text != "-d"):
                yield self.write_to(arguments[index + 1], adds=True)
            elif name == "7z" and text.startswith("-o"):
                yield self.write_to(Word(text[2:], arguments[index].literal), adds=True)

    def zip(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """zip can remove what it packed."""
        options = "".join(word.text for word in arguments if re.fullmatch(r"-[a-zA-Z]+", word.text))
        if "m" in options and ("e" in options or "P" in options):
            yield approve("locks-files", "zip replaces files by locked ones.")

    def rsync(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """rsync: over the network, or as a copy that may remove."""
        plain = [word for word in arguments if not word.text.startswith("-")]
        if any(is_remote(word.text) and not _own(word.text) for word in plain):
            yield from self.network(name, arguments)
            return
        if any(word.text.startswith(("--delete", "--remove-source")) for word in arguments) and plain:
            yield self.tree(plain[-1])
        yield from self.writes(name, arguments, plain)

    def dd(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """dd names its files by of= and if=."""
        for word in arguments:
            if word.text.startswith("of="):
                yield self.write_to(Word(word.text[3:], word.literal))
            elif word.text.startswith("if=/dev/") and re.match(r"if=/dev/(sd|hd|nvme|mem|kmem|vd)", word.text):
                yield approve("raw-disk", "Reads a disk or the memory directly.")

    def fuser(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """fuser shows, or with -k ends."""
        if any(re.match(r"-\w*k|--kill", word.text) for word in arguments):
            yield approve("kill", "fuser -k ends processes.")

    def mknod(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Device files open the machine; pipes do not."""
        plain = [word for word in arguments if not word.text.startswith("-")]
        if len(plain) > 1 and plain[1].text in ("b", "c", "u"):
            yield approve("device", "mknod makes a device file.")
        yield from self.writes(name, arguments, plain)

    def privileged(self, name: str, arguments: Sequence[Word], simple: Simple) -> Iterator[Verdict]:
        """Programs that act with more rights, and what they would run."""
        yield self.privilege(name, arguments)
        if name in ("docker", "podman", "nerdctl"):
            said = " ".join(word.text for word in arguments)
            if re.search(
                r"--privileged|docker\.sock|--pid[= ]host|--net(work)?[= ]host|-v\s*/:|--volume[= ]/:|source=/,|--cap-add|--device|--security-opt|--userns[= ]host|--ipc[= ]host",
                said,
            ):
                yield deny("container-escape", f"{name} opens the machine to a container.")
        if name in ("sudo", "doas", "chroot", "unshare", "nsenter", "pkexec", "strace", "ltrace", "gosu", "su-exec"):
            rest = after_options(arguments, {"-u", "-g", "-p", "-C", "-h", "-t", "-o", "-e", "-s"})
            rest = rest[1:] if name in ("chroot", "gosu", "su-exec") else rest
            yield from self.run(rest, simple) if rest else ()

    def privilege(self, name: str, arguments: Sequence[Word]) -> Verdict:
        """More rights than the task has; reading forms change nothing."""
        texts = [word.text for word in arguments]
        said = " ".join([name, *texts])
        if any(
            said == form or (" " in form and (said + " ").startswith(form + " "))
            for form in words("commands", "privilege_reading")
        ):
            return ALLOW
        # These only show something unless they are given a value to set.
        if name == "hostname" and all(text.startswith("-") and text not in ("-F", "-b") for text in texts):
            return ALLOW
        if name == "ifconfig" and len([text for text in texts if text != "-a"]) <= 1:
            return ALLOW
        if name == "mount" and (not texts or texts == ["-t", texts[-1]]):
            return ALLOW
        if (
            name == "sudo"
            and (rest := after_options(arguments, {"-u", "-g", "-p"}))
            and rest[0].text.rpartition("/")[2] in _READING | _FILE_TOOLS
        ):
            # The sandbox has no rights to gain: what only reads stays what it is.
            where = [word.text for word in rest[1:]]
            runs = [after for before, after in pairwise(where) if before == "-exec"]
            if runs and all(one.rpartition("/")[2] in _FILE_TOOLS | _READING for one in runs):
                where = [text for text in where if text != "-exec"]  # what it runs is judged for itself
            if not any(
                text.startswith(("/root", "/etc/sudoers", "-exec", "-delete", "-ok", "-fprint")) for text in where
            ):
                return ALLOW
        return approve("privilege", f"{name} acts with, or on, more rights than the task has.")

    def kill(self, name: str, arguments: Sequence[Word], simple: Simple) -> Verdict:
        """Ending processes: the shell's own jobs are its own matter."""
        texts = [word.text for word in arguments]
        targets = [text for text in texts if not re.fullmatch(r"-(\d+|[A-Z]+\d?|s|l|n|0)", text)]
        if name == "kill" and ("-l" in texts or "-0" in texts[:1]):
            return ALLOW
        if (
            name == "killall5"
            or (name == "kill" and any(text in ("1", "-1", "--") and text != "--" for text in targets))
            or (name == "kill" and texts[1:2] == ["-1"])
        ):
            return deny("kill-all", "Ends every process.")
        if name == "kill" and "$$" in targets and ("-9" in texts or "-KILL" in texts):
            return approve("history", "Ends the shell before it records what it ran.")
        own = r"%.*|\$!|\$\$|\$\{?\w*(pid|PID|Pid)\w*\}?|`jobs .*`|\$\(jobs .*\)|[`$(]+lsof .*|[`$(]+cat [\w./]*\.pid[`)]+"
        if name == "kill" and targets and all(re.fullmatch(own, text) for text in targets):
            return ALLOW
        if name == "kill" and not targets and {"jobs", "lsof"} & set(chain(simple.piped_from)):
            return ALLOW
        return approve("kill", f"{name} ends processes.")

    def network(self, name: str, arguments: Sequence[Word]) -> Iterator[Verdict]:
        """Programs that talk to other machines."""
        texts = [word.text for word in arguments]
        if name in ("nc", "nc.traditional", "ncat", "netcat", "socat") and any(
            re.match(r"-[a-z]*[ec]$|--(sh-)?exec|--lua|(?i:exec|system):", text) for text in texts
        ):
            yield deny("reverse-shell", f"{name} connects a program to the network.")
        if any(re.match(r"^(file|gopher|dict)://", text) for text in texts) or any(
            "169.254.169.254" in text or "metadata.google" in text for text in texts
        ):
            yield deny("metadata", f"{name} reads the machine's own services.")
        for index, text in enumerate(texts[:-1]):
            if text in ("-o", "-O", "--output", "--output-document", "-P"):
                yield self.write_to(arguments[index + 1], adds=True) if not (name == "curl" and text == "-O") else ALLOW
            if text in ("-d", "--data", "-T", "-F", "--data-binary", "--upload-file", "-i") and is_secret(
                texts[index + 1].partition("@")[2] or texts[index + 1]
            ):
                yield deny("secret", f"{name} sends {texts[index + 1]}.")
        if texts in (["--version"], ["-V"], ["--help"], ["-h"], ["version"]):
            return
        if (
            name in ("terraform", "vault", "helm", "kubectl", "ansible-playbook", "vagrant")
            and texts[:1]
            and texts[0] in ("fmt", "validate", "template", "lint", "--syntax-check", "ssh-config")
        ):
            return
        local = [text for text in texts if _own(text)]
        remote = [text for text in texts if URL.match(text) and text not in local]
        if (
            name
            in (
                "curl",
                "wget",
                "http",
                "httpie",
                "xh",
                "ab",
                "wrk",
                "telnet",
                "psql",
                "redis-cli",
                "mysql",
                "ssh",
                "scp",
            )
            and local
            and not remote
        ):
            return
        yield approve("network", f"{name} talks to the network.")
