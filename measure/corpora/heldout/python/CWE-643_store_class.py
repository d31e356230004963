from lxml import etree


class Roster:
    def __init__(self, path):
        self.tree = etree.parse(path)

    def member(self, nick):
        query = "//member[nick/text()='%s']" % nick
        return self.tree.xpath(query)


def profile(request):
    return Roster("roster.xml").member(request.POST["nick"])
