"""Variables that steer what later programs run, where they connect to, or what is recorded of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.firewall.base import Verdict
from agents.firewall.file_effects import approve

_DANGEROUS = re.compile(
    r"^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_\w+|PATH|BASH_ENV|ENV|PROMPT_COMMAND|PS4|PYTHONSTARTUP|PYTHONHOME|PYTHONPATH"
    r"|NODE_OPTIONS|NODE_PATH|PERL5OPT|PERL5LIB|PERL5DB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GCONV_PATH|GIT_\w+|EDITOR"
    r"|VISUAL|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|SHELL|\w*HIST(?:FILE|SIZE|FILESIZE|CONTROL|IGNORE|TIMEFORMAT)|LESSHISTFILE|AISWE_\w+|SKIP|HUSKY|PIP_\w+|UV_\w*INDEX\w*|NPM_CONFIG_\w+|npm_config_\w+"
    r"|https?_proxy|all_proxy|HTTPS?_PROXY|ALL_PROXY|SSLKEYLOGFILE|CURL_CA_BUNDLE|NODE_TLS_REJECT_UNAUTHORIZED|GOPROXY|CARGO_\w*RUSTC\w*"
    r"|RUSTC_WRAPPER|MAKEFLAGS|SUDO_ASKPASS|SSH_ASKPASS|RSYNC_RSH|PYTHONBREAKPOINT|PYTHONUSERBASE|PYTHONPLATLIBDIR|PYTHONHTTPSVERIFY|PYTEST_ADDOPTS|PYTEST_PLUGINS|PRE_COMMIT_ALLOW_NO_CONFIG|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|SSL_CERT_FILE|SSL_CERT_DIR|MAVEN_OPTS|GRADLE_OPTS|RUSTFLAGS|C(?:XX|PP)?FLAGS|LDFLAGS|CC|CXX|LD|GOSUMDB|GONOSUMDB|GONOSUMCHECK|GOINSECURE|GOFLAGS|GOPRIVATE|CVS_RSH|TAR_OPTIONS|GZIP|IFS)\+?=(.*)$",
    re.DOTALL,
)
_SHOWERS = frozenset(
    {"cat", "less", "more", "most", "vi", "vim", "nano", "bat", "code", "emacs", "true", "", ":", "bash", "sh", "zsh"}
)
# Variables with everyday values, and what in a value steers.
_OUTSIDE = r"(^|=|\s|-B)(/tmp|/var|/dev|~|\.\.)/"
_ONLY_WHEN = {
    "PYTEST_ADDOPTS": r"-p\s*\w|--ignore|--deselect|no:|--co\b|-k\b|--collect-only|--noconftest|-c\s",
    "PYTHONBREAKPOINT": r"\.(?!set_trace)",
    "MAVEN_OPTS": r"-javaagent|-agent(lib|path)|ssl\.insecure",
    "GRADLE_OPTS": r"-javaagent|-agent(lib|path)",
    "RUSTFLAGS": r"linker=|codegen-backend",
    "GOFLAGS": r"-toolexec|-insecure|-exec|-overlay|-mod=mod",
    "GOSUMDB": r"off",
    **dict.fromkeys(("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"), r"-fplugin|-wrapper|-specs|-B\s*/tmp|-plugin"),
    **dict.fromkeys(("CC", "CXX", "LD"), r"^[\"']?(/tmp|/var|/dev|~|\.\.)|[;&|`]|\$\("),
    **dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"), r"^[\"']?$|^[\"']?(/tmp|/var/tmp|/dev|~|\.\.)"),
}  # fmt: skip


def dangerous_assignment(assigned: str) -> Iterator[Verdict]:
    """Judge a variable that steers later programs."""
    found = _DANGEROUS.match(assigned)
    if found is None:
        return
    name, value = found[1], found[2]
    if name in ("PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "SHELL", "GIT_PAGER", "GIT_EDITOR"):
        if value.rpartition("/")[2] in _SHOWERS:
            return
    elif name in ("PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "LD_LIBRARY_PATH"):
        if not re.search(r"(^|:)(/tmp|/var|/dev|/home|/root|/proc|~|\.\.)", value) and name != "LD_LIBRARY_PATH":
            return
    elif name in _ONLY_WHEN:
        if not re.search(_ONLY_WHEN[name], value):
            return
    elif (
        (name == "PATH" and re.match(r"\"?\$\{?PATH\b", value))
        or name in ("HISTCONTROL", "HISTTIMEFORMAT")
        or (name == "HISTIGNORE" and value.strip("\"'") != "*")
        or (name.startswith("HIST") and re.fullmatch(r"[1-9]\d*", value))
        or re.match(r"GIT_(PAGER|TERMINAL|MERGE|TRACE|CURL_VERB|PS1)", name)
        or name == "IFS"
        or name in ("GZIP", "PS4")
        or (name.startswith("PIP_") and not re.search(r"INDEX|HOST|PROXY|CERT|TARGET|FIND", name))
    ):
        return
    yield approve("environment", f"Setting {name} changes what later programs run or record.")
