import csv

from django.http import HttpResponse

from .models import Feedback


def export(request):
    response = HttpResponse(content_type="text/csv")
    writer = csv.writer(response)
    for item in Feedback.objects.all():
        writer.writerow([item.author, item.text])
    return response
