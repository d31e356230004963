from mako.template import Template


def invoice(request):
    header = request.args.get("header", "")
    return Template("<h1>" + header + "</h1> ${total}").render(total=12)
