"""How answers and errors reach a person or a program: text or one JSON document, a sentence with a way out."""
