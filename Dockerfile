# The product's own image, for compose.yaml. Code that agents write never runs in it directly, only in bubblewrap inside.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY requirements/*.lock.txt requirements/
# The same folders as in a checkout, so that every part finds the others where it always does. The locks name every
# package: --no-deps, because older pips take an extra in a lock with hashes for a package without one.
ENV PIP_NO_DEPS=1 PIP_REQUIRE_HASHES=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv .venv && .venv/bin/pip install -r requirements/base.lock.txt
RUN python -m venv .venv-semgrep && .venv-semgrep/bin/pip install -r requirements/semgrep.lock.txt
RUN python -m venv .venv-sandbox && .venv-sandbox/bin/pip install -r requirements/sandbox.lock.txt \
 && .venv-sandbox/bin/pip install --target .venv-sandbox/readers -r requirements/readers.lock.txt

FROM python:3.11-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap git tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home aiswe \
 && install -d -o aiswe -g aiswe -m 700 /data
WORKDIR /app
COPY --from=build /app /app
COPY . /app
RUN .venv/bin/python scripts/link_project.py \
 && .venv/bin/python scripts/licences.py notices THIRD_PARTY_NOTICES
ENV AISWE_HOME=/data PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1
USER aiswe
VOLUME /data
EXPOSE 8000
# Collects orphans. Not the engine's own init: that is a file of the machine mounted below /usr, which sandboxes show.
ENTRYPOINT ["tini", "--"]
CMD ["daphne", "-b", "0.0.0.0", "-p", "8000", "aiswe_site.asgi:application"]
