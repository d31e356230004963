from django.shortcuts import render

from .models import Customer


def customers(request):
    city = request.GET["city"]
    people = Customer.objects.raw("SELECT * FROM crm_customer WHERE city = '%s'" % city)
    return render(request, "customers.html", {"people": people})
