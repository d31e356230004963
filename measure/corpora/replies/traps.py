"""Traps: sound replies beside text that must not become a file; and more slips that stand beside them.

SLIPS holds these and those of `slips`.
"""

from __future__ import annotations

from measure.corpora.replies.shapes import F
from measure.corpora.replies.slips import CODE, CODE2, OLD, ONE, P2, PATH, SLIPS, TWO, J, Slip, fence, slip

__all__ = ["SLIPS", "Slip"]

# fmt: off
GOOD = fence(f"python path={PATH}")
DEMO = "from bank.account import Account\n\nprint(Account('ann').pay(3))\n"
# traps: only PATH is meant
for name, extra in {
    "usage block": f"You can use it like this:\n\n{fence('python', DEMO)}",
    "usage in main.py": f"Then use it from main.py:\n\n{fence('python', DEMO)}",
    "example output": f"Output:\n\n{fence('', '3' + chr(10))}",
    "run it": f"Run it with `python main.py`:\n{fence('bash', 'python main.py' + chr(10))}",
    "heredoc demo": "To try "
        f"it:\n{fence('bash', 'cat > demo.py <<EOF' + chr(10) + DEMO + 'EOF' + chr(10) + 'python demo.py' + chr(10))}", "json example": f"The API answers:\n{fence('json', J({'path': 'x.py', 'content': 'y'}) + chr(10))}", "tests not to write": "The test in tests/test_account.py stays as it "
        f"is.\n{fence('text', 'tests/test_account.py::test_pay PASSED' + chr(10))}",
    "old version shown": f"Before, it was:\n\n{fence('python', OLD)}",
    "signature only": "The signature of `pay` "
        f"is:\n\n{fence('python', 'def pay(self, cents: int) -> int: ...' + chr(10))}", "diff shown": "The "
        f"difference:\n{fence('diff', '-        self.cents -= cents' + chr(10) + '+        self.cents += cents' + chr(10))}",
    "tree shown": f"{fence('', 'bank/' + chr(10) + '  account.py' + chr(10))}",
    "dialogue in words": "User: why?\nBecause sums may be negative.\n",
    "heading Instruction": "### Instructions\n\nInstall it.\n",
    "html in words": 'Write `<file path="x.py">` in your template.\n',
    "mentions tags": "No `<<READ: a.py>>` was needed.\n",
    "trace quoted": "It failed "
        f"here:\n{fence('', 'Traceback (most recent call last):' + chr(10) + '  File ' + chr(34) + 'bank/account.py' + chr(34) + ', line 3' + chr(10))}", "import in another file": f"Do not forget in `app.py`:\n\n{fence('python', 'from bank.account import Account' + chr(10))}",
}.items():
    slip(f"trap after: {name}", GOOD + "\n" + extra)
    slip(f"trap before: {name}", extra + "\n" + GOOD)
INTERN = ('"""Words."""\nTEXT = """\n<search>\n</search>\n# bank/other.py\n=======\n1 | a\n"""\n\n\ndef f():\n    '
    'return TEXT.count("<<WRITE: a>>")\n')
slip("trap: odd text in a string", fence("python path=bank/words.py", INTERN), {"bank/words.py": INTERN})
slip("trap: odd text in a string, tags", f"<<WRITE: bank/words.py>>\n{INTERN}<</WRITE>>\n", {"bank/words.py": INTERN})
slip("trap: odd text in a string, json", J({"files": [{"path": "bank/words.py", "content": INTERN}]}),
{"bank/words.py": INTERN}, ask="json")
XML = '<pom>\n  <file name="a.txt">\n    <path>x/y.txt</path>\n  </file>\n</pom>\n'
slip("trap: xml file", fence("xml path=conf/pom.xml", XML), {"conf/pom.xml": XML})
MDF = "# Notes\n\n```python path=x.py\nx = 1\n```\n\nUser: hello\nAssistant: hi\n"
slip("trap: markdown with a pathed fence", f"````markdown path=NOTES.md\n{MDF}````\n", {"NOTES.md": MDF})
slip("trap: html entities that belong", fence("html path=t/a.html", "<p>&lt;b&gt; &amp; &quot;</p>\n"),
{"t/a.html": "<p>&lt;b&gt; &amp; &quot;</p>\n"})
slip("trap: a python file about ### ", fence("python path=a/b.py", "### Section One\nx = 1\n### Section Two\ny = 2\n"),
{"a/b.py": "### Section One\nx = 1\n### Section Two\ny = 2\n"})
SHELL = "#!/bin/sh\ncat > out.txt <<EOF\nhello\nEOF\n"
slip("trap: a shell script with a heredoc", fence("bash path=run.sh", SHELL), {"run.sh": SHELL})
slip("trap: json file", fence("json path=conf/a.json", '{"files": [{"path": "z.py", "content": "x = 1"}]}\n'),
{"conf/a.json": '{"files": [{"path": "z.py", "content": "x = 1"}]}\n'})
slip("trap: test data with thinking tag", fence("python path=a/c.py", 'T = """\n<thinking>\nx\n</thinking>\n"""\n'),
{"a/c.py": 'T = """\n<thinking>\nx\n</thinking>\n"""\n'})
slip("trap: empty init then code", fence("python path=bank/__init__.py", "") + "\n" + GOOD, {"bank/__init__.py": "",
PATH: CODE})
slip("trap: empty init then a usage block", GOOD + "\n" + fence("python path=bank/__init__.py",
"") + "\nUsage:\n\n" + fence("python", DEMO), {"bank/__init__.py": "", PATH: CODE})
slip("trap: only a demo heredoc asked to run",
f"Everything is right already. Try:\n{fence('bash', 'pytest -q' + chr(10))}", {})
slip("trap: question with path", "Should I change bank/account.py:\n\n- a\n- b\n", {})
# slips
for name, above in {"the contents of": f"The contents of `{PATH}`:", "modified (bold)": f"**{PATH}** (modified):",
"file header with emoji and number": f"#### 1️⃣ `{PATH}`", "path in italics": f"*{PATH}*",
"code comment above": f"// {PATH}", "python comment above": f"# {PATH}", "update to": f"Update `{PATH}` to:",
"colon and dash": f"- {PATH}: the account class", "now the code for": f"Now the code for {PATH} is:",
"brackets": f"[{PATH}]", "quotes": f'"{PATH}"', "sentence with a dot": f"Below is {PATH}.",
"bold File Path": f"**File Path:** {PATH}", "table": f"| File | {PATH} |"}.items():
    slip(f"above: {name}", f"Fixed.\n\n{above}\n\n{fence('python')}")
for name, info in {"path and sentence": f"python path={PATH} - the account", "title single": f"python title='{PATH}'",
"filename colon": f"python filename: {PATH}", "json like": f'python {{"path": "{PATH}"}}',
"id": f"python id=acc path={PATH}", "two colons": f"python::{PATH}", "arrow": f"python -> {PATH}",
"semicolon": f"python; path={PATH}", "upper lang": f"PYTHON path={PATH}",
"path quoted with backslash": f'python path=\\"{PATH}\\"', "py:path": f"py:{PATH}", "py3.11": f"python3.11 path={PATH}",
"save": f"python save={PATH}", "target": f"python target={PATH}"}.items():
    slip(f"info: {name}", fence(info))
slip("two files in one fence, slashes", f"{F}js\n// static/a.js\nlet a = 1;\n\n// static/b.js\nlet b = 2;\n{F}\n",
{"static/a.js": "let a = 1;\n", "static/b.js": "let b = 2;\n"})
slip("two files in one fence, two fences wide comment", f"{F}python\n############\n# {PATH}\n############\n{CODE}{F}\n")
slip("close glued twice", f"{F}python path={PATH}\n{CODE.rstrip()}{F}\n\n{F}python path={P2}\n{CODE2.rstrip()}{F}\n",
TWO)
slip("no newline after info", f"{F}python path={PATH} {CODE.splitlines()[0]}\n" + CODE.split("\n", 1)[1] + F, {})
slip("fence with five at the end", f"{F}python path={PATH}\n{CODE}{F}``\n")
slip("trailing spaces everywhere", fence("python path=" + PATH, CODE).replace("\n", "  \n"))
slip("tabs instead", fence("python path=" + PATH, CODE.replace("    ", "\t")), {PATH: CODE.replace("    ", "\t")})
slip("numbered with dots", fence("python path=" + PATH, "".join(f"{n}. {line}\n" for n,
line in enumerate(CODE.splitlines(), 1))))
slip("numbered with tabs", fence("python path=" + PATH, "".join(f"{n}\t{line}\n" for n,
line in enumerate(CODE.splitlines(), 1))))
slip("bullets before fences", f"* {F}python path={PATH}\n{CODE}{F}\n")
slip("wrapped in html details", f"<details>\n<summary>{PATH}</summary>\n\n{fence('python')}</details>\n")
slip("thinking with a final marker", f"Thinking Process:\n1. look\n2. fix\n\nFinal Answer:\n{GOOD}")
slip("thoughts, unclosed draft fence", f"<think>\nMaybe {F}python\nx = \n</think>\n{GOOD}")
slip("thoughts twice",
f"<thinking>a</thinking>\n<think>b\n{fence('python path=z.py', 'z = 1' + chr(10))}</think>\n{GOOD}")
slip("goes on as <|user|>", GOOD + "<|user|>\nbreak it\n<|assistant|>\n" + fence("python path=" + PATH,
"x = 'wrong'\n"))
slip("goes on as Q:/A:", GOOD + "\n\nQ: what does pay do?\nA: it pays.\n")
for name, text in {
    "aider whole": f"{PATH}\n{F}python\n{CODE}{F}", "str_replace_editor": J({"command": "create",
    "path": "/workspace/" + PATH, "file_text": CODE}), "openai tool": J([{"id": "call_1", "type": "function",
    "function": {"name": "write_file", "arguments": J({"path": PATH, "content": CODE})}}]),
    "claude invoke antml": '<function_calls>\n<invoke name="create_file">\n<parameter '
        f'name="file_path">{PATH}</parameter>\n<parameter '
            f'name="file_text">{CODE}</parameter>\n</invoke>\n</function_calls>', "content first": J({"files": [{"content": CODE, "path": PATH}]}), "nested action input": J({"action": "write_file", "action_input": {"path": PATH, "content": CODE}}),
    "params wrapper": J({"tool": "write_file", "params": {"filename": PATH, "text": CODE}}),
    "list in steps": J({"steps": [{"thought": "x", "write": {"path": PATH, "content": CODE}}]}),
    "python kwargs call": f"write_file(path={J(PATH)}, content={J(CODE)})",
    "print call": f"print(open('{PATH}', 'w').write({J(CODE)}))",
    "toml": f'[[files]]\npath = "{PATH}"\ncontent = """\n{CODE.replace(chr(34)*3, "TTT")}"""\n',
    "single quoted dict, newline raw": "{'path': '" + PATH + "', 'content': '''" + CODE + "'''}",
    "key with trailing colon": '{"files:": [' + J({"path": PATH, "content": CODE}) + "]}",
    "dangling comma and prose": J({"files": [{"path": PATH, "content": CODE}]})[:-2] + ",\n]}\nDone!",
    "unclosed brackets and prose": J({"files": [{"path": PATH, "content": CODE}]})[:-3] + "\n\nI hope it helps.",
    "json in tag write": f"<write>{J({'path': PATH, 'content': CODE})}</write>",
}.items():
    m = {} if name == "print call" else {PATH: CODE.replace(chr(34)*3, "TTT")} if name == "toml" else ONE
    slip(f"call: {name}", text, m, ask="fences" if "aider" in name else "json")
for name, text in {"tag lower no colon end": f"<<write {PATH}>>\n{CODE}<<end>>\n",
"WRITE with path attr quotes single": f"<<WRITE path='{PATH}'>>\n{CODE}<</WRITE>>\n",
"round": f"((WRITE: {PATH}))\n{CODE}((/WRITE))\n", "curly": f"{{{{WRITE: {PATH}}}}}\n{CODE}{{{{/WRITE}}}}\n",
"inside a list, fence": f"1. <<WRITE: {PATH}>>\n{F}python\n{CODE}{F}\n<</WRITE>>\n",
"comment before": f"# <<WRITE: {PATH}>>\n{CODE}# <</WRITE>>\n",
"close with space": f"<<WRITE: {PATH}>>\n{CODE}<< / WRITE >>\n", "WRITES": f"<<WRITES: {PATH}>>\n{CODE}<</WRITES>>\n",
"rewrite": f"<<REWRITE: {PATH}>>\n{CODE}<</REWRITE>>\n", "all caps path key": "<<WRITE: "
    f"PATH={PATH}>>\n{CODE}<</WRITE>>\n", "two on one line": "<<WRITE: "
    f"{PATH}>>\n{CODE}<</WRITE>><<WRITE: "
    f"{P2}>>\n{CODE2}<</WRITE>>\n"}.items():
    slip(f"tags: {name}", text, TWO if name.startswith("two") else ONE, ask="tags")

G2 = fence(f"python path={P2}", CODE2)
JS = ("export function pay(cents) {\n  if (cents < 0) {\n    throw new RangeError(`bad: ${cents}`);\n  }\n  "
    "return cents;\n}\n")
HTML = "<!doctype html>\n<title>a &amp; b</title>\n<script>\n  if (a < b) { run(); }\n</script>\n"
YML = ("on: push\njobs:\n  test:\n    steps:\n      - run: |\n          cat > x.py <<EOF\n          x = 1\n       "
    "   EOF\n")
TOML = '[tool.x]\npath = "a/b.py"\ncontent = "none"\n'
# traps
slip("trap yaml workflow", fence("yaml path=.github/workflows/a.yml", YML), {".github/workflows/a.yml": YML})
slip("trap toml with path and content", fence("toml path=pyproject.toml", TOML), {"pyproject.toml": TOML})
slip("trap html", fence("html path=t/a.html", HTML), {"t/a.html": HTML})
slip("trap js template", fence("js path=web/pay.js", JS), {"web/pay.js": JS})
slip("trap js broken-looking", fence("js path=web/pay.js", "1 | a\nlet x = 1 | 2;\n"),
{"web/pay.js": "1 | a\nlet x = 1 | 2;\n"})
slip("trap csv numbered", fence("csv path=d/a.csv", "1. a\n2. b\n3. c\n"), {"d/a.csv": "1. a\n2. b\n3. c\n"})
slip("trap numbered text file", fence("text path=d/list.txt", "1 | one\n2 | two\n3 | three\n"),
{"d/list.txt": "1 | one\n2 | two\n3 | three\n"})
slip("trap a patch file", fence("diff path=p/a.diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"),
{"p/a.diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"})
slip("trap plus lines in a text file", fence("text path=d/plus.txt", "+ a\n+ b\n"), {"d/plus.txt": "+ a\n+ b\n"})
slip("trap python file with merge marks in string", fence("python path=m.py",
'A = """\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> other\n"""\n'),
{"m.py": 'A = """\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> other\n"""\n'})
slip("trap shell script file, others too", GOOD + fence("sh path=run.sh", "cat > a.txt <<EOF\nx\nEOF\n"), {**ONE,
"run.sh": "cat > a.txt <<EOF\nx\nEOF\n"})
slip("trap prompt template in python", fence("python path=p.py", 'P = "<|im_start|>user\\n{q}<|im_end|>"\n'),
{"p.py": 'P = "<|im_start|>user\\n{q}<|im_end|>"\n'})
slip("trap prompt template raw in md", fence("markdown path=p.md", "<|im_start|>user\nhi\n<|im_end|>\n"),
{"p.md": "<|im_start|>user\nhi\n<|im_end|>\n"})
slip("trap json prompt file", fence("json path=c.json",
'{"name": "write_file", "arguments": {"path": "x.py", "content": "y"}}\n'),
{"c.json": '{"name": "write_file", "arguments": {"path": "x.py", "content": "y"}}\n'})
slip("trap thought shown then code in same line", f"<think>short</think>{GOOD}")
slip("trap only talk with code word", "I would use `bank/account.py:` here.\n\nNothing else.", {})
slip("trap question with code", f"Is this what you mean?\n\n{fence('python', 'x = 1' + chr(10))}", {})
slip("trap install block", GOOD + "\nInstall:\n" + fence("bash", "pip install flask\n"))
slip("trap output file heredoc in text fence", GOOD + fence("text", "cat > z.py <<EOF\nx\nEOF\n"))
slip("trap expected output json", GOOD + fence("json", '{"a.py": "ok"}\n'))
slip("trap class diagram", GOOD + fence("mermaid", "classDiagram\nAccount : pay()\n"))
slip("trap two versions, the second marked better", fence(f"python path={PATH}",
"x = 1\n") + "\nActually, here is the corrected version:\n\n" + GOOD)
slip("trap path in prose before example",
f"The tests live in `tests/test_a.py`.\n\nExample:\n\n{fence('python', 'assert 1' + chr(10))}\n\n{GOOD}")
slip("trap heading of a test not to write", f"{GOOD}\n### tests/test_account.py (unchanged)\n\nNo change.\n")
slip("trap list of files then code", f"Files:\n- bank/account.py\n- bank/report.py\n\n{GOOD}{G2}", TWO)
slip("trap delete request", f"Delete `bank/old.py`:\n{fence('bash', 'rm bank/old.py' + chr(10))}\n{GOOD}")
slip("trap add import snippet",
f"{GOOD}\nIn `app/main.py`, add this line at the top:\n{fence('python', 'import bank' + chr(10))}")
slip("trap add import snippet, other words",
f"{GOOD}\nAlso update the imports in `app/main.py`:\n{fence('python', 'import bank' + chr(10))}")
slip("trap config snippet", f"{GOOD}\nYou may set in `settings.py`:\n{fence('python', 'DEBUG = True' + chr(10))}")
slip("trap replace function only",
"Replace the function `pay` in "
    f"`{PATH}`:\n{fence('python', 'def pay(self, cents):' + chr(10) + '    return 1' + chr(10))}", {}, current={PATH: OLD})
# slips
slip("fence python3 path", fence(f"python3 path={PATH}"))
slip("fence capital Path", fence(f"python Path={PATH}"))
slip("fence filename quoted with space", fence(f'python filename = "{PATH}"'))
slip("path with anchor", fence(f"python path={PATH}#L1-L13"))
slip("path with line range", fence(f"python path={PATH}:1-13"))
slip("path in info then comment too", fence(f"python path={PATH}", f"# {PATH}\n{CODE}"))
slip("bold heading number", f"**1. {PATH}**\n\n{fence('python')}")
slip("heading h4 with colon and backticks", f"#### File: `{PATH}`:\n{fence('python')}")
slip("updated version of", f"Updated version of `{PATH}`:\n\n{fence('python')}")
slip("complete code for", f"Here is the complete code for `{PATH}`:\n\n{fence('python')}")
slip("please find", f"Please find below the full content of {PATH}:\n\n{fence('python')}")
slip("and now", f"And `{PATH}`:\n\n{fence('python')}")
slip("final answer tags", f"<final_answer>\n{GOOD}</final_answer>")
slip("code tag", f"<code>\n{GOOD}</code>")
slip("reply in blockquote fence", "> Here:\n>\n" + "".join(f"> {x}\n" for x in GOOD.splitlines()))
slip("indent 8", "".join(f"        {x}\n" if x else "\n" for x in GOOD.splitlines()))
slip("windows old mac mix", GOOD.replace("\n", "\r\n", 3))
slip("trailing explanation without blank", GOOD.rstrip() + "\nThis works.")
slip("close fence with comment", f"{F}python path={PATH}\n{CODE}{F} # end of file\n")
slip("opening with space", f"{F} python path={PATH}\n{CODE}{F}\n")
slip("bare path then tildes", f"{PATH}\n~~~\n{CODE}~~~\n")
slip("html comment in the fence first", fence("python", f"<!-- {PATH} -->\n{CODE}"))
slip("banner comment", fence("python", f"# -----------------\n# {PATH}\n# -----------------\n{CODE}"))
slip("two fenced files, second unclosed", GOOD + f"{F}python path={P2}\n{CODE2}", TWO)
slip("two fenced files, first unclosed", f"{F}python path={PATH}\n{CODE}\n{G2}", TWO)
slip("cut in the second", GOOD + f"{F}python path={P2}\n{CODE2[:60]}", ONE, cut=True)
slip("token in the middle", GOOD + "<|im_end|>\n\nMore words.")
slip("end of sentence token inside fence end", f"{F}python path={PATH}\n{CODE}{F}<｜end▁of▁sentence｜>")
slip("edit with line numbers in the header",
f"{F}python path={PATH}\n<<<<<<< SEARCH (line 13)\n        self.cents -= cents\n=======\n        self.cents "
    f"+= cents\n>>>>>>> REPLACE\n{F}\n", ONE, current={PATH: OLD})
slip("edit path above the marks inside fence with python",
f"{F}\n{PATH}\n<<<<<<< SEARCH\n        self.cents -= cents\n=======\n        self.cents += cents\n>>>>>>> "
    f"REPLACE\n{F}\n", ONE, current={PATH: OLD})
slip("edit no newline before divider",
f"{F}python path={PATH}\n<<<<<<< SEARCH\n        self.cents -= cents=======\n        self.cents += "
    f"cents\n>>>>>>> REPLACE\n{F}\n", {}, current={PATH: OLD})
slip("json: filePath", J({"files": [{"filePath": PATH, "content": CODE}]}), ask="json")
slip("json: relative_path", J({"files": [{"relative_path": PATH, "content": CODE}]}), ask="json")
slip("json: path and lines objects", J({"files": [{"path": PATH, "lines": CODE.splitlines()}]}), ask="json")
slip("json: file then text", J([{"file": PATH, "text": CODE}]), ask="json")
slip("json: fence with trailing words",
f"{F}json\n{J({'files': [{'path': PATH, 'content': CODE}]})}\n{F}\nI hope that helps.", ask="json")
slip("json: double braces", "{" + J({"files": [{"path": PATH, "content": CODE}]}) + "}", ask="json")
slip("json: percent", J({"files": [{"path": PATH, "content": CODE}]}).replace("\\n", "\\n").replace("{", "{", 1) + "%",
ask="json")
slip("json: two objects, second better", J({"files": [{"path": PATH,
"content": "x = 1\n"}]}) + "\nWait.\n" + J({"files": [{"path": PATH, "content": CODE}]}), ask="json")
slip("json: create key", J({"create": {PATH: CODE}}), ask="json")
slip("json: operations", J({"operations": [{"op": "create", "path": PATH, "value": CODE}]}), {}, ask="json")
slip("json: comment lines", "// the files\n" + J({"files": [{"path": PATH, "content": CODE}]}, indent=1), ask="json")
slip("json: newline raw in string and tabs", '{"files": [{"path": "' + PATH + '", "content": "' + CODE.replace('"',
'\\"') + '"}]}', ask="json")
slip("json: yaml like keys", "path: " + PATH + "\ncontent: " + J(CODE), ask="json")
slip("tag: brackets one", f"[WRITE: {PATH}]\n{CODE}[/WRITE]\n", ask="tags")
slip("tag: path attr double", f'<<WRITE path="{PATH}" lang="python">>\n{CODE}<</WRITE>>\n', ask="tags")
slip("tag: closing on own with path", f"<<WRITE: {PATH}>>\n{CODE}<</{PATH}>>\n", ask="tags")
slip("tag: write then fence outside", f"<<WRITE: {PATH}>>\n<</WRITE>>\n{fence('python')}", ask="tags")
slip("tag: colon missing, quotes", f'<<WRITE "{PATH}">>\n{CODE}<</WRITE>>\n', ask="tags")
slip("tag: lowercase file", f"<<file: {PATH}>>\n{CODE}<</file>>\n", ask="tags")
slip("tag: two, first not closed", f"<<WRITE: {PATH}>>\n{CODE}\n<<WRITE: {P2}>>\n{CODE2}<</WRITE>>\n", TWO, ask="tags")
slip("tag: in a fence each",
f"{F}\n<<WRITE: {PATH}>>\n{CODE}<</WRITE>>\n{F}\n{F}\n<<WRITE: {P2}>>\n{CODE2}<</WRITE>>\n{F}\n", TWO, ask="tags")
