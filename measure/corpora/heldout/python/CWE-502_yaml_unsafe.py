import yaml


def import_config(request):
    return yaml.load(request.body, Loader=yaml.UnsafeLoader)
