import ldap
from flask import request

FIELDS = ("cn", "mail", "title")


def advanced_search(conn):
    parts = ["(%s=%s)" % (field, request.args[field]) for field in FIELDS if field in request.args]
    criteria = "(&" + "".join(parts) + ")"
    return conn.search_ext_s("ou=people,dc=example,dc=com", ldap.SCOPE_ONELEVEL, criteria)
