import ldap
from django.http import JsonResponse


def phone_book(request):
    conn = ldap.initialize("ldaps://10.0.0.3")
    surname = request.GET.get("sn", "*")
    department = request.GET.get("department", "*")
    ldap_filter = "(&(sn={})(ou={}))".format(surname, department)
    message = conn.search("dc=example,dc=com", ldap.SCOPE_SUBTREE, ldap_filter)
    _, entries = conn.result(message)
    return JsonResponse({"entries": [dn for dn, _ in entries]})
