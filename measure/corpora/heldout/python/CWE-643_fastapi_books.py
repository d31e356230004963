from fastapi import FastAPI
from lxml import etree

app = FastAPI()
library = etree.parse("library.xml")


@app.get("/books")
def books(author: str):
    return [node.text for node in library.xpath(f"/library/book[author='{author}']/title")]
