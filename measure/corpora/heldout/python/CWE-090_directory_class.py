import ldap


class Directory:
    def __init__(self, uri, base):
        self.link = ldap.initialize(uri)
        self.base = base

    def by_mail(self, mail):
        return self.link.search_s(self.base, ldap.SCOPE_SUBTREE, "(mail=%s)" % mail, ["cn", "mail"])


def lookup(request):
    directory = Directory("ldaps://directory.example.com", "dc=example,dc=com")
    return directory.by_mail(request.GET.get("mail"))
