class NoteStore:
    def __init__(self, base):
        self.base = base

    def load(self, title):
        path = f"{self.base}/{title}.txt"
        with open(path, encoding="utf-8") as handle:
            return handle.read()

    def save(self, title, text):
        with open(f"{self.base}/{title}.txt", "w", encoding="utf-8") as handle:
            handle.write(text)


def view(request):
    store = NoteStore("/srv/notes")
    return store.load(request.GET["title"])
