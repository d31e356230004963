import ldap
from flask import request


def check_password():
    uid = request.form["uid"]
    dn = "uid={},ou=staff,dc=corp,dc=example".format(uid)
    conn = ldap.initialize("ldaps://ldap.corp.example")
    conn.simple_bind_s(dn, request.form["password"])
    return True
