import os

import flask


def list_exports():
    tenant = flask.request.headers.get("X-Tenant")
    base = os.path.normpath("/srv/exports/" + tenant)
    entries = []
    for name in os.listdir(base):
        with open(os.path.join(base, name)) as handle:
            entries.append({"name": name, "preview": handle.read(200)})
    return flask.jsonify(entries)
