import ldap
from django.http import JsonResponse
from ldap.filter import filter_format


def by_mail(request):
    conn = ldap.initialize("ldaps://directory.example.com")
    query = filter_format("(mail=%s)", [request.GET["mail"]])
    return JsonResponse({"found": len(conn.search_s("dc=example,dc=com", ldap.SCOPE_SUBTREE, query))})
