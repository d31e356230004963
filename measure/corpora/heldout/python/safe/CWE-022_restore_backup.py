import tarfile

from flask import Blueprint, current_app, jsonify, request

backup = Blueprint("backup", __name__)


@backup.post("/restore")
def restore():
    archive = request.files["archive"]
    with tarfile.open(fileobj=archive.stream, mode="r:gz") as tar:
        tar.extractall(current_app.config["DATA_DIR"], filter="data")
    return jsonify(status="restored")
