from django.db import connection


def report(request):
    column = request.GET.get("sort", "created")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, total FROM invoices ORDER BY {column}")
        return cursor.fetchall()
