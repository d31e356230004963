from ldap3 import Connection, Server
from ldap3.utils.conv import escape_filter_chars


def find(request):
    username = escape_filter_chars(request.POST["username"])
    with Connection(Server("ldaps://ldap.example.com"), auto_bind=True) as conn:
        conn.search("dc=example,dc=com", f"(uid={username})", attributes=["cn"])
        return conn.entries
