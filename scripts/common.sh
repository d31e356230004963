# Shared by the scripts of this folder; sourced, never run.

say() { printf '%s\n' "$*" >&2; }
die() { say "✕ $1"; shift; for line in "$@"; do say "  → $line"; done; exit 1; }

# as_root COMMAND…: run as root when that needs no password.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
may_be_root() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

# system_packages PACKAGE…: install Debian/Ubuntu packages, or print the one line that does.
system_packages() {
    [ $# -gt 0 ] || return 0
    command -v apt-get >/dev/null || die "Needed from your system's package manager: $*" "install them, then run this again"
    may_be_root || die "System packages are missing: $*" "sudo apt-get update && sudo apt-get install -y $*"
    say "Installing system packages: $*"
    local log; log=$(mktemp)
    if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
        tail -20 "$log" >&2
        rm -f "$log"
        die "apt-get could not install: $*" "read the lines above; then run: sudo apt-get update && sudo apt-get install -y $*"
    fi
    rm -f "$log"
}

# find_python: the newest Python from 3.11 on which has venv.
find_python() {
    local name
    for name in "${AISWE_PYTHON:-}" python3.13 python3.12 python3.11 python3.14 python3; do
        [ -n "$name" ] && command -v "$name" >/dev/null || continue
        "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        "$name" -c 'import venv, ensurepip' 2>/dev/null || continue
        command -v "$name"
        return 0
    done
    return 1
}

# find_uv: the installer uv; where it is not installed, pip fetches it into .venv from its own lock. It installs everything
# else in a quarter of pip's time.
find_uv() {
    if command -v uv >/dev/null && uv --version >/dev/null 2>&1; then
        command -v uv
        return
    fi
    if ! .venv/bin/uv --version >/dev/null 2>&1; then
        say "Fetching uv, which installs the rest"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.lock.txt >&2 || return
    fi
    printf '%s\n' .venv/bin/uv
}

# fill_env FOLDER LOCK…: a virtual environment that holds exactly these locked packages; nothing to do when it already does.
# The first one must be .venv: uv may have to live there. With TARGET the packages go into that folder instead, where only
# a program that names it finds them.
fill_env() {
    local folder=$1 stamp want; shift
    stamp="$folder/.lock-$(basename "$1" .lock.txt)"
    want=$(cat "$@" | sha256sum | cut -d' ' -f1)
    if [ -x "$folder/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then return 0; fi
    if ! [ -x "$folder/bin/python" ]; then
        say "Making $folder with $("$PYTHON" --version)"
        "$PYTHON" -m venv "$folder" || die "$PYTHON could not make $folder" "apt-get install python3-venv"
    fi
    local lock uv arguments=()
    for lock in "$@"; do arguments+=(-r "$lock"); done
    if [ -n "${TARGET:-}" ]; then rm -rf "$TARGET"; arguments+=(--target "$TARGET"); fi
    uv=$(find_uv) || uv=
    say "Installing $(cat "$@" | grep -c ==) packages of $* into ${TARGET:-$folder}"
    # A lock lists all that its packages need and is wanted. pip is the second try: it knows a mirror or a proxy that only its own configuration names.
    if [ -z "$uv" ] || ! "$uv" pip install --quiet --compile-bytecode --python "$folder/bin/python" --require-hashes --no-deps "${arguments[@]}"; then
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps "${arguments[@]}" ||
            die "The packages of $* could not be installed." \
                "check the network or your pip configuration, then run this again: what is installed already is kept"
    fi
    printf '%s\n' "$want" >"$stamp"
}
