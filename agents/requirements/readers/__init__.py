"""Documents of other formats, read into Markdown in the sandbox; diagrams, and folders of specifications."""
