import requests


class ImageImporter:
    def fetch(self, address):
        return requests.get(address, stream=True, timeout=10).content


def add_image(request):
    return ImageImporter().fetch(request.POST["image_url"])
