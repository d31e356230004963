from flask import Flask, abort, request, send_from_directory

app = Flask(__name__)
REPORTS = "/srv/reports"


@app.get("/reports/download")
def download_report():
    name = request.args.get("name")
    if not name:
        abort(400)
    return send_from_directory(REPORTS, name)
