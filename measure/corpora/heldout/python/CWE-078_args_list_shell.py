import subprocess

from flask import request


def run_report():
    period = request.form["period"]
    command = ["sh", "-c", "generate-report --period " + period]
    return subprocess.Popen(command, stdout=subprocess.PIPE).communicate()[0]
