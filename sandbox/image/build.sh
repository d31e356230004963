#!/bin/sh
# Builds the sandbox image for the engine of DOCKER_HOST, unless it is there already.
set -eu
cd "$(dirname "$0")/../.."
exec "${PYTHON:-python3}" -m sandbox.images
