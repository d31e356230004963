from flask import Flask, Response

app = Flask(__name__)


@app.route("/admin/logs/<path:name>")
def show_log(name):
    with open("/var/log/app/%s" % name) as handle:
        return Response(handle.read(), mimetype="text/plain")
