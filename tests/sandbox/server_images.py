"""Images of servers made of this machine's own packages; they read what the official images read."""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

import docker

from sandbox.inside import services as inside
from sandbox.services import Kind
from tests.needs import missing

TAG = "aiswe-test"
USERS = {"postgresql": "postgres", "redis": "redis"}
START_POSTGRES = """#!/bin/sh
set -e
mkdir -p -m 700 "$PGDATA"
BIN/initdb -D "$PGDATA" -U "$POSTGRES_USER" -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
create="CREATE DATABASE \\"$POSTGRES_DB\\""
[ "$POSTGRES_DB" = postgres ] || echo "$create" | BIN/postgres --single -D "$PGDATA" postgres >/dev/null
BIN/postgres -D "$PGDATA" -c listen_addresses= -k /tmp &
server=$!
until BIN/psql -h /tmp -U "$POSTGRES_USER" -d "$POSTGRES_DB" -qc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
for seed in /docker-entrypoint-initdb.d/*.sql; do
    [ ! -e "$seed" ] || BIN/psql -h /tmp -U "$POSTGRES_USER" -d "$POSTGRES_DB" -v ON_ERROR_STOP=1 -qf "$seed"
done
kill -INT $server
wait $server || true
exec BIN/postgres -D "$PGDATA" -k /tmp "$@"
"""


def with_libraries(programs: Iterable[str]) -> set[str]:
    """These programs and the libraries that they load."""
    found = set(programs)
    for program in programs:
        told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        found |= set(re.findall(r"(/\S+) \(0x", told))
    return found


def server_image(client: docker.DockerClient, kind: Kind) -> str:
    """The image of a PostgreSQL or Redis server; the test is skipped (in CI fails) without the program."""
    name = f"{'postgres' if kind == 'postgresql' else 'redis'}:{TAG}"
    server = inside.program("postgres" if kind == "postgresql" else "redis-server")
    if not server:
        missing(f"no server program of {kind} on this machine")
    tools = str(Path(server).resolve().parent)
    programs = ["/bin/sh", *(found for tool in ("mkdir", "sleep") if (found := shutil.which(tool)))]
    programs += [f"{tools}/{tool}" for tool in ("postgres", "initdb", "psql")] if kind == "postgresql" else [server]
    if kind == "postgresql":
        programs += glob.glob(f"{tools}/../lib/*.so")  # what a new database loads
    folders = ["/usr/share/postgresql", "/usr/share/zoneinfo", "/usr/lib/locale/C.utf8"] if kind == "postgresql" else []
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for path in sorted(with_libraries(programs)):
            tar.add(os.path.realpath(path), arcname=os.path.normpath(path).lstrip("/"))
        for folder in filter(os.path.isdir, folders):
            tar.add(folder, arcname=folder.lstrip("/"))
        user = USERS[kind]
        texts = {
            "etc/passwd": f"root:x:0:0::/:/bin/sh\n{user}:x:999:999::/tmp:/bin/sh\n",
            "etc/group": f"root:x:0:\n{user}:x:999:\n",
            "start": START_POSTGRES.replace("BIN", tools) if kind == "postgresql" else '#!/bin/sh\nexec "$@"\n',
        }
        for place, text in texts.items():
            info = tarfile.TarInfo(place)
            info.size, info.mode = len(text), 0o755
            tar.addfile(info, io.BytesIO(text.encode()))
        for folder in ("tmp", "docker-entrypoint-initdb.d"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(info)
    path = ":".join(["PATH=/usr/bin:/bin", tools])
    changes = ['ENTRYPOINT ["/start"]', f"ENV {path}"]
    client.api.import_image_from_data(archive.getvalue(), repository=name.partition(":")[0], tag=TAG, changes=changes)
    return name
