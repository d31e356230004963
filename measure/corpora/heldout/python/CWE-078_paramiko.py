import paramiko
from flask import request


def restart_service():
    client = paramiko.SSHClient()
    client.load_system_host_keys()
    client.connect("app1.example.com", username="deploy")
    service = request.form["service"]
    _, stdout, _ = client.exec_command("systemctl restart " + service)
    return stdout.read()
