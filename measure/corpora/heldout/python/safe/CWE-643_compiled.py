from lxml import etree

FIND = etree.XPath("//account[@id=$account]/balance/text()")


def balance(document, account):
    return FIND(document, account=account)
