from flask import Flask, abort, request
from ldap3 import Connection, Server

app = Flask(__name__)


def is_admin(login):
    conn = Connection(Server("ldaps://ldap.example.com"), auto_bind=True)
    search = "(&(memberOf=cn=admins,dc=example,dc=com)(sAMAccountName={0}))".format(login)
    return conn.search("dc=example,dc=com", search)


@app.before_request
def guard():
    if not is_admin(request.headers["X-Remote-User"]):
        abort(403)
