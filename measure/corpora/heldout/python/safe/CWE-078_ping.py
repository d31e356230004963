import ipaddress
import subprocess

from flask import Flask, request

app = Flask(__name__)


@app.get("/ping")
def ping():
    host = str(ipaddress.ip_address(request.args["host"]))
    done = subprocess.run(["/usr/bin/ping", "-c", "1", host], capture_output=True, text=True, timeout=10, check=False)
    return done.stdout
