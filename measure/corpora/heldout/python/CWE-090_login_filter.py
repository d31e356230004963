from ldap3 import ALL, Connection, Server


def authenticate(request):
    username = request.POST["username"]
    password = request.POST["password"]
    server = Server("ldaps://ldap.example.com", get_info=ALL)
    with Connection(server, auto_bind=True) as conn:
        conn.search("dc=example,dc=com", f"(uid={username})", attributes=["cn"])
        if not conn.entries:
            return None
        dn = conn.entries[0].entry_dn
    return Connection(server, dn, password).bind()
