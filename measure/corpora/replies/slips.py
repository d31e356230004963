"""More replies as small models really send them, each with the files that are meant: other slips than those of
`shapes`. `traps` adds more to SLIPS.

The reader was mended with them in view. Before it was, it used just over half of them as meant and 14 % otherwise.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field

from measure.corpora.replies.shapes import F, Files

J = json.dumps
PATH = "bank/account.py"
CODE = '''"""Accounts."""


class Account:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.cents = 0

    def pay(self, cents: int) -> int:
        if cents < 0 or cents > 1 << 40:
            raise ValueError(f"bad sum: {cents!r}")
        self.cents += cents
        return self.cents
'''
P2 = "bank/report.py"
CODE2 = """from bank.account import Account


def line(account: Account) -> str:
    return "{}: {}\\n".format(account.owner, account.cents)
"""
ONE = {PATH: CODE}
TWO = {PATH: CODE, P2: CODE2}
OLD = CODE.replace("self.cents += cents", "self.cents -= cents")


@dataclass(frozen=True)
class Slip:
    """One reply: what it is called, the form that was asked for, its text, the files that are meant, those that were
    there before, whether the model was cut off."""

    name: str
    asked: str
    text: str
    meant: Files
    current: Files = field(default_factory=dict)
    cut: bool = False


SLIPS: list[Slip] = []


def slip(
    name: str,
    text: str,
    meant: Files | None = None,
    ask: str = "fences",
    current: Files | None = None,
    cut: bool = False,
) -> None:
    """Write one down."""
    SLIPS.append(Slip(name, ask, text, ONE if meant is None else meant, current or {}, cut))


def fence(info: str, code: str = CODE, close: str = F) -> str:
    """A block in a fence."""
    return f"{F}{info}\n{code}{close}\n"


# fmt: off
# --- fences: the path elsewhere
for name, above in {
    "bold label with backticks": f"**File: `{PATH}`**", "heading (new file)": f"## {PATH} (new file)",
    "here is": f"Here's `{PATH}`:",
    "in X colon": f"In {PATH}:", "create a file named": f"Create a file named `{PATH}` with the following content:",
    "updated X sentence": f"Here is the updated `{PATH}` file:", "summary": f"<details><summary>{PATH}</summary>\n",
    "equals rule": f"=== {PATH} ===",
    "dash rule": f"--- {PATH} ---", "file number": f"File 1: {PATH}", "filename star": f"* **Filename:** `{PATH}`",
    "link": f"[{PATH}]({PATH})",
    "heading with number and title": f"### Step 1: `{PATH}`", "save this as": f"Save this as `{PATH}`:",
    "arrow": f"➡️ `{PATH}`", "emoji": f"📄 **{PATH}**",
    "html comment": f"<!-- {PATH} -->", "two blank lines": f"`{PATH}`\n\n",
    "path then sentence": f"`{PATH}`\n\nThis is the account class.", "the file path:": f"The file `{PATH}` should be:",
}.items():
    slip(f"above: {name}", f"I fixed it.\n\n{above}\n{fence('python')}")
for name, info in {
    "blanks around =": f"python path = {PATH}", "path colon": f"python path: {PATH}",
    "path colon tight": f"python path:{PATH}", "file colon": f"python file: {PATH}",
    "hash": f"python # {PATH}", "slashes": f"python // {PATH}", "parens": f"python ({PATH})",
    "square": f"python [{PATH}]", "comma": f"python, path={PATH}",
    "path first": f"path={PATH} python", "lines": f"python path={PATH} lines=1-13",
    "attribute braces": f'python {{path="{PATH}"}}', "angle": f"python path=<{PATH}>",
    "lang=": f"lang=python path={PATH}", "colon path=": f"python:path={PATH}", "dot slash": f"python path=./{PATH}",
    "workspace": f"python path=/workspace/{PATH}",
    "backslash": "python path=bank\\account.py", "trailing comma": f"python path={PATH},",
    "trailing colon": f"python path={PATH}:", "file_path": f"python file_path={PATH}",
    "filepath": f"python filepath={PATH}", "src": f'python src="{PATH}"', "unclosed quote": f'python path="{PATH}',
    "bar": f"python | {PATH}", "dash": f"python - {PATH}", "py3": f"py path={PATH}",
    "PATH capital": f"python PATH={PATH}", "(new)": f"python path={PATH} (new file)", "at": f"python @ {PATH}",
}.items():
    slip(f"info: {name}", fence(info))
for name, first in {"File:": f"# File: {PATH}", "filename:": f"# filename: {PATH}",
"shebang": f"#!/usr/bin/env python3\n# {PATH}", "coding": f"# -*- coding: utf-8 -*-\n# {PATH}", "bare path": PATH,
"path: line": f"path: {PATH}", "front matter": f"---\npath: {PATH}\n---", "rule comment": f"# ==== {PATH} ====",
"docstring": f'"""{PATH}"""', "blank then comment": f"\n# {PATH}"}.items():
    meant = {PATH: CODE}
    slip(f"first line: {name}", fence("python", first + "\n" + CODE), meant)
# --- fences: marks
slip("close glued", f"{F}python path={PATH}\n{CODE.rstrip()}{F}\n")
slip("open glued to prose", f"Here is the code: {F}python path={PATH}\n{CODE}{F}\n")
slip("close with language", f"{F}python path={PATH}\n{CODE}{F}python\n\nDone.\n")
slip("close with end", f"{F}python path={PATH}\n{CODE}{F}end\n")
slip("single quotes as fence", f"'''python path={PATH}\n{CODE}'''\n")
slip("two backticks", f"``python path={PATH}\n{CODE}``\n")
slip("outer markdown fence", f"{F}markdown\nThe file:\n\n{fence('python path=' + PATH)}{F}\n")
slip("outer fence same", f"{F}\n{fence('python path=' + PATH)}{F}\n")
slip("two files in one fence", f"{F}python\n# {PATH}\n{CODE}\n# {P2}\n{CODE2}{F}\n", TWO)
slip("two files in one fence, File:", f"{F}python\n# File: {PATH}\n{CODE}\n# File: {P2}\n{CODE2}{F}\n", TWO)
slip("two files in one fence, rules", f"{F}python\n# === {PATH} ===\n{CODE}\n# === {P2} ===\n{CODE2}{F}\n", TWO)
slip("path= fence empty, then code", f"{F}python path={PATH}\n{F}\n{F}python\n{CODE}{F}\n")
slip("no fence, comment", f"# {PATH}\n{CODE}")
slip("no fence, label", f"File: {PATH}\n\n{CODE}")
slip("no fence, rules", f"=== {PATH} ===\n{CODE}\n=== {P2} ===\n{CODE2}", TWO)
slip("line numbers", fence("python path=" + PATH, "".join(f"{n:3} | {line}\n" for n,
line in enumerate(CODE.splitlines(), 1))))
slip("line numbers colon", fence("python path=" + PATH, "".join(f"{n}: {line}\n" for n,
line in enumerate(CODE.splitlines(), 1))))
slip("plus on each line", fence("diff path=" + PATH, "".join(f"+{line}\n" for line in CODE.splitlines())))
slip("plus on each line, python", fence("python path=" + PATH, "".join(f"+{line}\n" for line in CODE.splitlines())))
slip("html entities", fence("python path=" + PATH, html.escape(CODE)))
slip("smart quotes", fence("python path=" + PATH, CODE.replace('f"bad sum: {cents!r}"', 'f“bad sum: {cents!r}”')))
slip("no-break indents", fence("python path=" + PATH, CODE.replace("    ", "\u00a0\u00a0\u00a0\u00a0")))
slip("zero width", fence("python path=" + PATH, "\u200b" + CODE))
slip("old mac line ends", fence("python path=" + PATH).replace("\n", "\r"))
slip("quoted reply", "".join(f"> {line}\n" for line in fence("python path=" + PATH).splitlines()))
slip("list item deep indent",
"1. The file:\n\n" + "".join(f"    {line}\n" for line in fence("python path=" + PATH).splitlines()))
for name, tok in {"endoftext": "<|endoftext|>", "eot": "<|eot_id|>", "s": "</s>", "turn": "<end_of_turn>",
"inst": "[/INST]", "deepseek": "<｜end▁of▁sentence｜>", "eos word": "<eos>", "end": "<|end|>"}.items():
    slip(f"token: {name}", fence("python path=" + PATH).rstrip() + tok)
slip("token at start", "<|im_start|>assistant\n" + fence("python path=" + PATH))
slip("role at start", "assistant\n\n" + fence("python path=" + PATH))
slip("### Response:", "### Response:\n" + fence("python path=" + PATH))
slip("token before the last fence", f"{F}python path={PATH}\n{CODE}<|im_end|>\n{F}")
BAD = fence("python path=" + PATH, "x = 'wrong'\n")
slip("goes on as the user",
fence("python path=" + PATH) + "<|im_end|>\n<|im_start|>user\nNow break it.<|im_end|>\n<|im_start|>assistant\n" + BAD)
slip("goes on as Human:", fence("python path=" + PATH) + "\nHuman: now break it\n\nAssistant: sure\n" + BAD)
slip("goes on as ### Instruction",
fence("python path=" + PATH) + "\n### Instruction:\nnow break it\n\n### Response:\n" + BAD)
for name, (a, b) in {"answer": ("<answer>", "</answer>"), "output": ("<output>", "</output>"),
"solution": ("<solution>", "</solution>"), "response": ("<response>", "</response>"), "final": ("[FINAL]",
"[/FINAL]")}.items():
    slip(f"wrapped: {name}", f"{a}\n{fence('python path=' + PATH)}{b}")
for name, (a, b) in {"thinking": ("<thinking>", "</thinking>"), "reasoning": ("<reasoning>", "</reasoning>"),
"THINK": ("[THINK]", "[/THINK]"), "kimi": ("◁think▷", "◁/think▷"), "scratchpad": ("<scratchpad>", "</scratchpad>"),
"Think capital": ("<Think>", "</Think>"), "thought": ("<thought>", "</thought>")}.items():
    slip(f"thoughts: {name}, draft of another file inside",
    f"{a}\nMaybe:\n{fence('python path=bank/draft.py', 'x = 1' + chr(10))}No.\n{b}\n{fence('python path=' + PATH)}")
slip("harmony channels",
f"<|channel|>analysis<|message|>Maybe {F}python path=bank/draft.py\nx = "
    f"1\n{F}\n<|end|><|start|>assistant<|channel|>final<|message|>{fence('python path=' + PATH)}<|return|>")
slip("think never closed, then files", f"<think>\nWell. Here:\n\n{fence('python path=' + PATH)}")
slip("loop", fence("python path=" + PATH) * 25)
slip("loop cut", fence("python path=" + PATH) * 25 + f"{F}python path={PATH}\n{CODE[:90]}", cut=True)
slip("no close, then an explanation",
f"{F}python path={PATH}\n{CODE}\nThis code adds a check for bad sums and returns the new balance.\n")
slip("no close, then Explanation:",
f"{F}python path={PATH}\n{CODE}\nExplanation:\n- pay() checks the sum.\n- It returns the balance.\n")
slip("no close, then heading", f"{F}python path={PATH}\n{CODE}\n### Explanation\n\nI added a check.\n")
DOC = 'def f():\n    """Use it:\n\n```\nf()\n```\n    """\n    return 1\n'
slip("docstring with a fence at column 0", fence("python path=bank/doc.py", DOC), {"bank/doc.py": DOC})
DOC2 = 'def f():\n    """Use it:\n\n    ```python\n    f()\n    ```\n    """\n    return 1\n'
slip("docstring with an indented python fence", fence("python path=bank/doc.py", DOC2), {"bank/doc.py": DOC2})
README = "# Bank\n\n```bash\npip install .\n```\n\nThen:\n\n```python\nprint(1)\n```\n"
slip("readme and code", fence("markdown path=README.md", README) + "\n" + fence("python path=" + PATH),
{"README.md": README, PATH: CODE})
slip("rst",
".. code-block:: python\n   :caption: "
    f"{PATH}\n\n" + "".join(f"   {line}\n" if line else "\n" for line in CODE.splitlines()))
slip("pre code",
f"<h3>{PATH}</h3>\n<pre><code class=\"language-python\">\n{html.escape(CODE, quote=False)}</code></pre>\n")
# --- shell and patches
slip("heredoc cat >", f"{F}bash\nmkdir -p bank\ncat > {PATH} << 'EOF'\n{CODE}EOF\n{F}\n")
slip("heredoc cat <<", f"{F}sh\ncat <<EOF > {PATH}\n{CODE}EOF\npytest -q\n{F}\n")
slip("heredoc two", f"{F}bash\ncat > {PATH} <<'EOF'\n{CODE}EOF\n\ncat > {P2} <<'PY'\n{CODE2}PY\n{F}\n", TWO)
slip("heredoc tee", f"{F}bash\ntee {PATH} > /dev/null <<'EOF'\n{CODE}EOF\n{F}\n")
plus = "".join(f"+{line}\n" for line in CODE.splitlines())
slip("apply_patch add", f"*** Begin Patch\n*** Add File: {PATH}\n{plus}*** End Patch\n")
slip("apply_patch update",
f"*** Begin Patch\n*** Update File: {PATH}\n@@\n     def pay(self, cents: int) -> int:\n-        self.cents "
    "-= cents\n+        self.cents += cents\n*** End Patch\n", {}, current={PATH: OLD})
slip("diff of a new file", f"{F}diff\n--- /dev/null\n+++ b/{PATH}\n@@ -0,0 +1,13 @@\n{plus}{F}\n")
slip("diff of an old file",
f"{F}diff\n--- a/{PATH}\n+++ b/{PATH}\n@@ -11,3 +11,3 @@\n-        self.cents -= cents\n+        self.cents "
    f"+= cents\n         return self.cents\n{F}\n", ONE, current={PATH: OLD})
def sr(a: str, m: str, b: str,
path: str = PATH) -> str: return (f"{F}python path={path}\n{a}\n        self.cents -= cents\n{m}\n        self.cents += "
    f"cents\n{b}\n{F}\n")
for name, abc in {"ORIGINAL/UPDATED": ("<<<<<<< ORIGINAL", "=======", ">>>>>>> UPDATED"), "HEAD": ("<<<<<<< HEAD",
"=======", ">>>>>>> new"), "four marks": ("<<<< SEARCH", "====", ">>>> REPLACE"), "small": ("<<<<<<< search", "=======",
">>>>>>> replace"), "dashes as divider": ("<<<<<<< SEARCH", "-------", ">>>>>>> REPLACE"), "brackets": ("[SEARCH]",
"[REPLACE]", "[/REPLACE]"), "xml": ("<search>", "</search>\n<replace>", "</replace>"),
"nine marks": ("<<<<<<<<< SEARCH", "=========", ">>>>>>>>> REPLACE")}.items():
    slip(f"edit: {name}", sr(*abc), ONE, current={PATH: OLD})
slip("edit: path inside the fence",
f"{F}python\n{PATH}\n<<<<<<< SEARCH\n        self.cents -= cents\n=======\n        self.cents += "
    f"cents\n>>>>>>> REPLACE\n{F}\n", ONE, current={PATH: OLD})
slip("edit: no fence",
f"{PATH}\n<<<<<<< SEARCH\n        self.cents -= cents\n=======\n        self.cents += cents\n>>>>>>> REPLACE\n", ONE,
current={PATH: OLD})
slip("edit: indentation lost",
f"{F}python path={PATH}\n<<<<<<< SEARCH\nself.cents -= cents\n=======\nself.cents += cents\n>>>>>>> REPLACE\n{F}\n", ONE,
current={PATH: OLD})
# --- xml and calls
for name, text in {
    "cline": f"<write_to_file>\n<path>{PATH}</path>\n<content>\n{CODE}</content>\n</write_to_file>",
    "cline line_count": f"<write_to_file>\n<path>{PATH}</path>\n<content>\n{CODE}</content>\n<line_count>13</line_count>\n</write_to_file>",
    "create_file attr": f'<create_file path="{PATH}">\n{CODE}</create_file>',
    "qwen3 function": f"<tool_call>\n<function=write_file>\n<parameter=path>\n{PATH}\n</parameter>\n<parameter=content>\n{CODE}</parameter>\n</function>\n</tool_call>",
    "invoke": f'<invoke name="write_file">\n<parameter name="path">{PATH}</parameter>\n<parameter '
        f'name="content">{CODE}</parameter>\n</invoke>',
    "bolt": '<boltArtifact id="x" title="Bank">\n<boltAction type="file" '
        f'filePath="{PATH}">\n{CODE}</boltAction>\n</boltArtifact>',
    "file name attr": f'<file name="{PATH}">\n{CODE}</file>',
    "document": f"<document>\n<source>{PATH}</source>\n<document_content>\n{CODE}</document_content>\n</document>",
    "file elements": f"<file>\n<path>{PATH}</path>\n<content>\n{CODE}</content>\n</file>",
    "cdata": f'<file path="{PATH}"><![CDATA[\n{CODE}]]></file>',
    "python call": f'write_file("{PATH}", """{CODE.replace(chr(34)*3, chr(39)*3)}""")' ,
    "react": f"Thought: write it\nAction: write_file\nAction Input: {J({'path': PATH, 'content': CODE})}\n",
    "mistral": f"[TOOL_CALLS] [{J({'name': 'write_file', 'arguments': {'path': PATH, 'content': CODE}})}]",
    "llama": f"<|python_tag|>{J({'name': 'write_file', 'parameters': {'path': PATH, 'content': CODE}})}<|eom_id|>",
    "functions.": f"functions.write_file({J({'path': PATH, 'content': CODE})})",
    "function_call": f"<function_call>{J({'name': 'create_file', 'arguments': {'file_path': PATH, 'content': CODE}})}</function_call>",
    "file: colon tag": f"<file:{PATH}>\n{CODE}</file:{PATH}>", "path as element": f"<{PATH}>\n{CODE}</{PATH}>",
}.items():
    m = {PATH: CODE.replace('"""', "'''")} if name == "python call" else ONE
    slip(f"call: {name}", text, m, ask="tags" if text.startswith("<") else "json")
# --- json
for name, text in {
    "file object": J({"file": {"path": PATH, "content": CODE}}), "files as one object": J({"files": {"path": PATH,
    "content": CODE}}), "bare object": J({"path": PATH, "content": CODE}),
    "pairs": J({"files": [[PATH, CODE]]}), "tree": J({"bank": {"account.py": CODE}}),
    "tree in files": J({"files": {"bank": {"account.py": CODE}}}),
    "file_path/file_text": J({"command": "create", "path": PATH, "file_text": CODE}),
    "capital keys": J({"Files": [{"Path": PATH, "Content": CODE}]}), "contents": J({"files": [{"file_path": PATH,
    "contents": CODE}]}),
    "source": J({"files": [{"filepath": PATH, "source": CODE}]}), "body": J({"files": [{"file_name": PATH,
    "body": CODE}]}), "new_content": J({"edits": [{"file": PATH, "new_content": CODE}]}),
    "text": J({"files": [{"name": PATH, "text": CODE}]}),
    "directory and name": J({"files": [{"directory": "bank", "name": "account.py", "content": CODE}]}),
    "string of json": J(J({"files": [{"path": PATH, "content": CODE}]})), "escaped twice": J({"files": [{"path": PATH,
    "content": CODE}]}).replace("\\n", "\\\\n"), "all escaped twice": J({"files": [{"path": PATH,
    "content": J(CODE)[1:-1]}]}),
    "single quotes": "{'files': [{'path': '" + PATH + "', 'content': '" + J(CODE)[1:-1].replace("'",
    "\\'").replace('\\"', '"') + "'}]}",
    "keys not quoted": f'{{files: [{{path: "{PATH}", content: {J(CODE)}}}]}}',
    "json word first": "json\n" + J({"files": [{"path": PATH, "content": CODE}]}),
    "json tags": f"<json>\n{J({'files': [{'path': PATH, 'content': CODE}]})}\n</json>",
    "json5 fence": f"{F}json5\n{J({'files': [{'path': PATH, 'content': CODE}]})}\n{F}",
    "smart delimiters": J({"files": [{"path": PATH, "content": "@@"}]}).replace('"', "”").replace("”@@”", J(CODE)),
    "comma missing": f'{{"files": [{{"path": "{PATH}" "content": {J(CODE)}}}]}}',
    "comma missing between": f'{{"files": [{J({"path": PATH, "content": CODE})}\n{J({"path": P2, "content": CODE2})}]}}', "colon missing": f'{{"files": [{{"path" "{PATH}", "content" {J(CODE)}}}]}}',
    "equals for colon": f'{{"files" = [{{"path" = "{PATH}", "content" = {J(CODE)}}}]}}',
    "open brace missing": J({"files": [{"path": PATH, "content": CODE}]})[1:],
    "brace too many": J({"files": [{"path": PATH, "content": CODE}]}) + "}",
    "dots in the list": J({"files": [{"path": PATH, "content": CODE}]})[:-2] + ", ...]}",
    "hash comment": '{"files": [ # one\n' + J({"path": PATH, "content": CODE}) + "]}",
    "pieces with plus": '{"files": [{"path": '
        '"' + PATH + '", "content": ' + " +\n ".join(J(line + "\n") for line in CODE.splitlines()) + "}]}",
    "pieces without plus": '{"files": [{"path": '
        '"' + PATH + '", '
            '"content": ' + "\n ".join(J(line + "\n") for line in CODE.splitlines()) + "}]}", "numbered "
                "lines": J({"files": [{"path": PATH, "content": {str(n): line for n, line in enumerate(CODE.splitlines(), 1)}}]}),
    "tool_use": J({"type": "tool_use", "name": "write_file", "input": {"path": PATH, "content": CODE}}),
    "content parts": J({"files": [{"path": PATH, "content": [{"type": "text", "text": CODE}]}]}),
    "fence in content": J({"files": [{"path": PATH, "content": f"{F}python\n{CODE}{F}"}]}),
    "apostrophe escaped": J({"files": [{"path": PATH, "content": CODE + "x = 'a'\n"}]}).replace("'a'", "\\'a\\'"),
    "bad escapes": J({"files": [{"path": PATH, "content": CODE + "D = r'\\d+\\s'\n"}]}).replace("\\\\d",
    "\\d").replace("\\\\s", "\\s"),
    "yaml": f"files:\n  - path: {PATH}\n    content: "
        "|\n" + "".join(f"      {line}\n" if line else "\n" for line in CODE.splitlines()), "yaml in a fence": f"{F}yaml\nfiles:\n  - path: {PATH}\n   "
            " "
        "content: "
        "|\n" + "".join(f"      {line}\n" if line else "\n" for line in CODE.splitlines()) + F,
    "jsonl": J({"path": PATH, "content": CODE}) + "\n" + J({"path": P2, "content": CODE2}),
    "answer wrapper": J({"response": {"files": [{"path": PATH, "content": CODE}]}}),
    "result list wrapper": J([{"files": [{"path": PATH, "content": CODE}]}]),
    "text before and after": f"Here it is: {J({'files': [{'path': PATH, 'content': CODE}]})} Hope this helps "
        f"{{smile}}!",
    "a schema echoed first": '{"files": [{"path": "string", "content": "string"}]}\n\n' + J({"files": [{"path": PATH,
    "content": CODE}]}), "python dict assignment": "files = " + J({PATH: CODE}),
    "type and quotes": J({"files": [{"path": f"`{PATH}`", "content": CODE}]}),
    "a/ prefix": J({"files": [{"path": f"./{PATH}", "content": CODE, "language": "python"}]}),
    "content null beside": J({"files": [{"path": PATH, "content": CODE}, {"path": P2, "content": None}]}),
    "action write": J({"actions": [{"action": "write", "path": PATH, "content": CODE}]}),
    "code key per file": J({PATH: {"content": CODE}}), "files key with code": J({"files": {PATH: {"code": CODE}}}),
}.items():
    m = ONE
    if name in ("comma missing between", "jsonl"):
        m = TWO
    if name == "apostrophe escaped":
        m = {PATH: CODE + "x = 'a'\n"}
    if name == "bad escapes":
        m = {PATH: CODE + "D = r'\\d+\\s'\n"}
    slip(f"json: {name}", text, m, ask="json")
cutj = J({"files": [{"path": P2, "content": CODE2}, {"path": PATH, "content": CODE}]})
slip("json: cut in the second file", cutj[:-80], {P2: CODE2}, ask="json", cut=True)
# --- tags
def t(o: str, c: str, code: str = CODE) -> str: return f"{o}\n{code}{c}\n"
for name, text in {
    "closed by opening word": t(f"<<WRITE: {PATH}>>", "<<WRITE>>"), "same line": f"<<WRITE: {PATH}>>{CODE}<</WRITE>>",
    "square": t(f"[[WRITE: {PATH}]]", "[[/WRITE]]"), "guillemets": t(f"«WRITE: {PATH}»", "«/WRITE»"),
    "single": t(f"<WRITE: {PATH}>", "</WRITE>"), "triple": t(f"<<<WRITE: {PATH}>>>", "<<</WRITE>>>"),
    "heading": t(f"### <<WRITE: {PATH}>>", "### <</WRITE>>"), "entities": html.escape(t(f"<<WRITE: {PATH}>>",
    "<</WRITE>>", ""), quote=False).replace("&gt;&gt;\n", "&gt;&gt;\n" + CODE, 1),
    "half close": t(f"<<WRITE: {PATH}>>", "<</WRITE>"), "other half": t(f"<<WRITE: {PATH}>>", "</WRITE>>"),
    "(new)": t(f"<<WRITE: {PATH} (new)>>", "<</WRITE>>"), "bar": t(f"<<WRITE: {PATH} | python>>", "<</WRITE>>"),
    "mode": t(f'<<WRITE: "{PATH}", mode="w">>', "<</WRITE>>"), "write_file": t(f"<<WRITE_FILE: {PATH}>>",
    "<</WRITE_FILE>>"), "path inside": f"<<WRITE>>{PATH}\n{CODE}<</WRITE>>\n",
    "path: inside": f"<<WRITE>>\npath: {PATH}\n{CODE}<</WRITE>>\n",
    "end as argument": t(f"<<WRITE: {PATH}>>", "<<WRITE: END>>"), "no brackets": t(f"WRITE: {PATH}", "/WRITE"),
    "escaped": t(f"\\<\\<WRITE: {PATH}\\>\\>", "\\<\\</WRITE\\>\\>"), "no end then talk": t(f"<<WRITE: {PATH}>>",
    "") + "\nThis class checks the sums that are paid in.\n",
    "fence info inside": f"<<WRITE: {PATH}>>\n{fence('python path=' + PATH)}<</WRITE>>\n",
    "fence not closed inside": f"<<WRITE: {PATH}>>\n{F}python\n{CODE}<</WRITE>>\n",
    "tag in a list": f"- <<WRITE: {PATH}>>\n{CODE}<</WRITE>>\n",
    "quoted tag in prose first": f"I will use <<WRITE: path>> as asked.\n<<WRITE: {PATH}>>\n{CODE}<</WRITE>>\n",
    "file= ": t(f'<<WRITE file="{PATH}">>', "<</WRITE>>"), "name: ": t(f"<<WRITE name={PATH}>>", "<</WRITE>>"),
    "begin/end": t(f"<<BEGIN WRITE: {PATH}>>", "<<END WRITE>>"), "python:": t(f"<<PYTHON: {PATH}>>", "<</PYTHON>>"),
    "overwrite": t(f"<<OVERWRITE: {PATH}>>", "<</OVERWRITE>>"), "save": t(f"<<SAVE: {PATH}>>", "<</SAVE>>"),
    "new line in the tag": t(f"<<WRITE:\n{PATH}>>", "<</WRITE>>"),
    "close on the last line": f"<<WRITE: {PATH}>>\n{CODE.rstrip()}<</WRITE>>\n", "colon after": t(f"<<WRITE: {PATH}>>:",
    "<</WRITE>>"), "dash path": t(f"<<WRITE - {PATH}>>", "<</WRITE>>"),
}.items():
    slip(f"tags: {name}", text, ask="tags")
# --- what holds nothing: must not become a file
for name, text, cur in [
    ("refusal", "I'm sorry, but I can't help with that.", {}), ("question",
    "Could you share the contents of `bank/account.py`?", {}), ("plan only", f"1. Open `{PATH}`.\n2. Change pay().\n",
    {}),
    ("elided", fence("python path=" + PATH,
    "class Account:\n    # ... existing code ...\n    def pay(self):\n        pass\n"), {PATH: CODE}), ("elided dots",
    fence("python path=" + PATH, "class Account:\n    ...\n    # rest of the class remains the same\n"), {PATH: CODE}),
    ("output as file", f"{F}\n$ pytest\n1 failed\n{F}", {}), ("empty", "", {}), ("only fences", F * 9, {}),
    ("schema echoed", '{"files": [{"path": "string", "content": "string"}]}', {}), ("template echoed",
    fence("python path=src/name.py", "# code here\n"), {}), ("template placeholder", fence("python path=<path>",
    "x = 1\n"), {}),
    ("placeholder tag", "<<WRITE: path>>\ncontent\n<</WRITE>>", {}), ("cut in the only file",
    f"{F}python path={PATH}\n{CODE[:150]}", {}),
]:
    slip(f"nothing: {name}", text, {}, current=cur, cut=name.startswith("cut"))
