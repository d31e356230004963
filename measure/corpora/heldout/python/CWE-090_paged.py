import ldap3


def export_staff(request, connection: ldap3.Connection):
    site = request.args.get("site")
    rows = connection.extend.standard.paged_search(
        search_base="dc=example,dc=com",
        search_filter="(l=" + site + ")",
        search_scope=ldap3.SUBTREE,
        paged_size=100,
        generator=True,
    )
    return list(rows)
