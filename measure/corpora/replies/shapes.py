"""Replies in the shapes that small models really send them in, right and wrong, each with the files that are meant.

Made from three small programs: how a model writes the files down in each protocol, where it slips, and, each with each,
what it says around them. Written after what 1–14B models do; nothing here is copied from a model's output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

F = "```"
Files = dict[str, str]

PROGRAMS: dict[str, Files] = {
    "one file": {"src/total.py": 'def total(items):\n    """Add up "all" items."""\n    return sum(items)\n'},
    "two files": {
        "app/store.py": 'import re\n\nLINE = re.compile(r"(\\d+)\\s+(\\w+)")\n\n\ndef read(text):\n    rows = '
        'text.split("\\n")\n    return {m[2]: int(m[1]) for row in rows if (m := LINE.match(row))}\n',
        "app/main.py": "from app.store import read\n\n\ndef main(path):\n    with open(path) as file:\n        "
        "found = read(file.read())\n    print(f\"{len(found)} rows: {', '.join(found)}\")\n",
    },
    "odd content": {
        "shop/form.py": "TEMPLATE = '''<form action=\"{url}\">\n  <input name=\"q\">\n</form>'''\n\n\ndef "
        'form(url):\n    # {"path": "x"} is no file\n    return TEMPLATE.format(url=url)\n',
        "tests/test_form.py": "from shop.form import form\n\n\ndef test_a_form_names_its_address():\n    assert "
        "'action=\"/go\"' in form('/go')\n",
    },
}


@dataclass(frozen=True)
class Shape:
    """One reply: what it is called, its text, the files that are meant, whether the model was cut off."""

    protocol: str
    name: str
    text: str
    meant: Files
    cut: bool = field(default=False)


def shapes() -> Iterator[Shape]:
    """All of them; the same ones every time."""
    for program, files in PROGRAMS.items():
        for protocol, writers in (("fences", FENCES), ("tags", TAGS), ("json", JSON)):
            for name, write in writers.items():
                text = write(files)
                yield Shape(protocol, f"{program}: {name}", text, files)
                for around, say in AROUND.items():
                    yield Shape(protocol, f"{program}: {name}, {around}", say(text), files)
            if len(files) > 1:
                *whole, last = files
                text = writers["plain"](files)
                end = text.rindex(_sample(files[last], protocol)) + 12
                yield Shape(
                    protocol, f"{program}: cut off", text[:end], {path: files[path] for path in whole}, cut=True
                )


def _sample(content: str, protocol: str) -> str:
    line = content.splitlines()[-1].strip()
    return json.dumps(line)[1:-1] if protocol == "json" else line


AROUND: dict[str, Callable[[str], str]] = {
    "politeness": lambda text: f"Sure! Here is the solution:\n\n{text}\n\nLet me know if you need anything else!",
    "thoughts in tags": lambda text: f"<think>\nMaybe a dict? No: a list.\n</think>\n\n{text}",
    "thoughts closed only": lambda text: f"I will keep it simple.\n</think>\n\n{text}",
    "windows line ends": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "template token at the end": lambda text: f"{text}<|im_end|>",
    "diagnosis first": lambda text: (
        f"## Diagnosis\nCause: off by one.\nEvidence: E  assert 3 == 2\nHypothesis: the bound.\nPlan: fix it.\n\n{text}"
    ),
    "heading and list": lambda text: (
        f"### Solution\n\n1. Read it.\n2. Add it up.\n\n{text}\n\n### Notes\n- It is fast.\n"
    ),
    "commands afterwards": lambda text: f"{text}\n\nRun the tests:\n\n{F}bash\npytest -q\n{F}\n",
}


def _fenced(open_: Callable[[str, str], str], close: str = F, between: str = "\n\n") -> Callable[[Files], str]:
    return lambda files: between.join(f"{open_(path, '')}\n{text}{close}" for path, text in files.items()) + "\n"


FENCES: dict[str, Callable[[Files], str]] = {
    "plain": _fenced(lambda path, _: f"{F}python path={path}"),
    "quoted path": _fenced(lambda path, _: f'{F}python path="{path}"'),
    "title": _fenced(lambda path, _: f'{F}python title="{path}"'),
    "colon": _fenced(lambda path, _: f"{F}python:{path}"),
    "path alone": _fenced(lambda path, _: f"{F}{path}"),
    "path as second word": _fenced(lambda path, _: f"{F}python {path}"),
    "bold path above": _fenced(lambda path, _: f"**{path}**\n{F}python"),
    "heading above": _fenced(lambda path, _: f"### `{path}`\n\n{F}python"),
    "label above": _fenced(lambda path, _: f"File: {path}\n{F}python"),
    "numbered above": _fenced(lambda path, _: f"1. `{path}`:\n{F}python"),
    "comment first": lambda files: "\n".join(f"{F}python\n# {path}\n{text}{F}\n" for path, text in files.items()),
    "tildes": _fenced(lambda path, _: f"~~~python path={path}", "~~~"),
    "four marks": _fenced(lambda path, _: f"{F}`python path={path}", f"{F}`"),
    "capital language": _fenced(lambda path, _: f"{F}Python path={path}"),
    "braces": _fenced(lambda path, _: f"{F}{{.python path={path}}}"),
    "indented": lambda files: (
        "- The files:\n\n"
        + "\n".join(
            "".join(f"  {line}\n" for line in f"{F}python path={path}\n{text}{F}".split("\n"))
            for path, text in files.items()
        )
    ),
    "last fence missing": lambda files: FENCES["plain"](files).rstrip().removesuffix(F),
    "fences between missing": lambda files: (
        "".join(f"{F}python path={path}\n{text}" for path, text in files.items()) + F
    ),
    "given twice": lambda files: (
        f"{FENCES['plain'](dict.fromkeys(files, 'x = 0' + chr(10)))}\nWait, better:\n\n{FENCES['plain'](files)}"
    ),
}


def _tagged(open_: str, close: str, between: str = "\n") -> Callable[[Files], str]:
    return lambda files: between.join(
        f"{open_.format(path=path)}\n{text}{close.format(path=path)}\n" for path, text in files.items()
    )


TAGS: dict[str, Callable[[Files], str]] = {
    "plain": _tagged("<<WRITE: {path}>>", "<</WRITE>>"),
    "small letters": _tagged("<<write: {path}>>", "<</write>>"),
    "no colon": _tagged("<<WRITE {path}>>", "<</WRITE>>"),
    "blanks": _tagged("<< WRITE : {path} >>", "<< /WRITE >>"),
    "quoted path": _tagged('<<WRITE: "{path}">>', "<</WRITE>>"),
    "backticks": _tagged("<<WRITE: `{path}`>>", "<</WRITE>>"),
    "path=": _tagged('<<WRITE path="{path}">>', "<</WRITE>>"),
    "path in the end": _tagged("<<WRITE: {path}>>", "<</WRITE: {path}>>"),
    "end write": _tagged("<<WRITE: {path}>>", "<<END WRITE>>"),
    "end alone": _tagged("<<WRITE: {path}>>", "<<END>>"),
    "write end": _tagged("<<WRITE: {path}>>", "<<WRITE END>>"),
    "one bracket at the end": _tagged("<<WRITE: {path}>>", "</WRITE>"),
    "one bracket at all": _tagged('<write path="{path}">', "</write>"),
    "file element": _tagged('<file path="{path}">', "</file>"),
    "opening not closed": _tagged("<<WRITE: {path}", "<</WRITE>>"),
    "no end at all": _tagged("<<WRITE: {path}>>", ""),
    "bold": _tagged("**<<WRITE: {path}>>**", "**<</WRITE>>**"),
    "fence inside": lambda files: "\n".join(
        f"<<WRITE: {path}>>\n{F}python\n{text}{F}\n<</WRITE>>" for path, text in files.items()
    ),
    "fence around": lambda files: f"{F}\n{TAGS['plain'](files)}{F}\n",
    "wishes around": lambda files: (
        f'<<READ: setup.py>>\n{TAGS["plain"](files)}<<EXEC: pytest -q>>\n<<CONFIRM: "ok?">>\n'
    ),
    "given twice": lambda files: (
        f"{TAGS['plain'](dict.fromkeys(files, 'x = 0' + chr(10)))}\nBetter:\n{TAGS['plain'](files)}"
    ),
}


def _rows(files: Files) -> list[dict[str, str]]:
    return [{"path": path, "content": text} for path, text in files.items()]


def _raw(files: Files, quote: Callable[[str], str]) -> str:
    rows = ",\n".join(f'    {{"path": "{path}", "content": {quote(text)}}}' for path, text in files.items())
    return f'{{\n  "files": [\n{rows}\n  ]\n}}\n'


def _call(path: str, text: str, arguments: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
    return {"name": "write_file", "arguments": arguments({"path": path, "content": text})}


JSON: dict[str, Callable[[Files], str]] = {
    "plain": lambda files: json.dumps({"files": _rows(files)}),
    "indented": lambda files: json.dumps({"thought": "A sum.", "files": _rows(files)}, indent=2),
    "in a fence": lambda files: f"{F}json\n{json.dumps({'files': _rows(files)}, indent=2)}\n{F}\n",
    "in a fence without an end": lambda files: f"{F}json\n{json.dumps({'files': _rows(files)}, indent=2)}\n",
    "a bare list": lambda files: json.dumps(_rows(files)),
    "a mapping": lambda files: json.dumps({"files": files}),
    "a bare mapping": lambda files: json.dumps(files, indent=1),
    "other names": lambda files: json.dumps({"changes": [{"filename": p, "code": t} for p, t in files.items()]}),
    "lists of lines": lambda files: json.dumps(
        {"files": [{"path": p, "content": t.splitlines()} for p, t in files.items()]}
    ),
    "tool calls": lambda files: json.dumps({"tool_calls": [{"function": _call(p, t)} for p, t in files.items()]}),
    "tool calls as text": lambda files: json.dumps([_call(p, t, json.dumps) for p, t in files.items()]),
    "tool call tags": lambda files: "\n".join(
        f"<tool_call>\n{json.dumps(_call(p, t))}\n</tool_call>" for p, t in files.items()
    ),
    "raw line ends": lambda files: _raw(
        files, lambda text: json.dumps(text).replace("\\n", "\n") if "\\n" not in text else json.dumps(text)
    ),
    "raw everything": lambda files: _raw(files, lambda text: f'"{text}"'),
    "quotes not escaped": lambda files: _raw(
        files, lambda text: '"' + json.dumps(text)[1:-1].replace('\\"', '"') + '"'
    ),
    "triple quotes": lambda files: _raw(files, lambda text: f'"""\n{text}"""'),
    "backticks": lambda files: _raw(files, lambda text: f"`{text}`"),
    "comma too many": lambda files: _raw(files, json.dumps).replace("}\n  ]", "},\n  ]"),
    "comment": lambda files: _raw(files, json.dumps).replace('"files": [', '"files": [ // all of them'),
    "python words": lambda files: repr({"done": True, "next": None, "files": _rows(files)}),
    "brackets missing": lambda files: json.dumps({"files": _rows(files)})[:-2],
    "last quote missing": lambda files: json.dumps({"files": _rows(files)})[:-4],
    "two documents": lambda files: "\n".join(json.dumps(row) for row in _rows(files)),
    "given twice": lambda files: json.dumps({"files": _rows(dict.fromkeys(files, "x = 0\n")) + _rows(files)}),
}
