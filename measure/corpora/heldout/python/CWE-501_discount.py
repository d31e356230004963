from django.shortcuts import redirect


def apply_discount(request):
    cart = request.session.get("cart", {})
    cart["discount"] = float(request.GET.get("discount", 0))
    request.session["cart"] = cart
    return redirect("cart")
