from jinja2 import Environment, FileSystemLoader, select_autoescape

environment = Environment(loader=FileSystemLoader("templates"), autoescape=select_autoescape())


def page(request):
    return environment.get_template("profile.html").render(bio=request.args["bio"])
