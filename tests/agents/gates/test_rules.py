"""Every rule of ours fires on its mistake and stays silent on the right way to do it."""

import json
from pathlib import Path

import pytest

from agents.gates.base import GateReport
from agents.gates.run import run_gates
from agents.gates.semgrep_tool import find_semgrep, rules_json

pytestmark = pytest.mark.skipif(
    find_semgrep() is None, reason="semgrep is not installed (requirements/semgrep.lock.txt)"
)

WEB = "from flask import redirect, render_template_string, request, session\n\n@app.route('/x')\ndef view():\n    value = request.args.get('v')\n    "
API = "from fastapi import FastAPI\n\n@app.get('/x')\nasync def view(value: str):\n    "
WRONG = {
    "py-command-injection": API + "subprocess.run([value, '-l'])\n",
    "py-code-injection": WEB + "return eval(value)\n",
    "py-sql-injection": API + "db.execute(f'select * from t where n = {value}')\n",
    "py-path-traversal": API + "return open('/srv/' + value).read()\n",
    "py-open-redirect": WEB + "return redirect(value)\n",
    "py-ssrf": API + "return httpx.get(value)\n",
    "py-template-injection": WEB + "return render_template_string('Hi ' + value)\n",
    "py-cross-site-scripting": WEB + "return f'<h1>{value}</h1>'\n",
    "py-deserialisation-of-input": WEB + "return pickle.loads(request.data)\n",
    "py-ldap-injection": WEB + "return conn.search_s('dc=x', 2, '(uid=%s)' % value)\n",
    "py-xpath-injection": WEB + "return tree.xpath('//u[@n=' + value + ']')\n",
    "py-regex-from-input": WEB + "return re.match(value, 'x')\n",
    "py-trust-boundary": WEB + "session['role'] = request.form['role']\n",
    "py-mass-assignment": WEB + "return User(**request.get_json())\n",
    "py-dynamic-code": "eval(x)\n",
    "py-code-from-data-file": "exec(open('a.txt').read())\n",
    "py-hidden-name": "().__class__.__bases__[0].__subclasses__()\n",
    "py-import-by-variable": "__import__(name)\n",
    "py-reverse-shell": "import os\nos.dup2(s.fileno(), 0)\n",
    "py-shell-command": "import os\nos.system('ls ' + x)\n",
    "py-sql-built-in-call": "cursor.execute('select * from t where n = %s' % name)\n",
    "py-weak-password-hash": "import hashlib\nhashlib.sha256(password.encode())\n",
    "py-plain-password-compare": "if password == user.password:\n    pass\n",
    "py-predictable-token": "import random\nreset_token = random.randint(1, 10**9)\n",
    "py-unsafe-yaml": "import yaml\nyaml.load(x)\n",
    "py-unsafe-deserialiser": "import dill\ndill.loads(x)\n",
    "py-xml-external-entities": "from lxml import etree\netree.XMLParser(resolve_entities=True)\n",
    "py-jwt-not-verified": "import jwt\njwt.decode(t, options={'verify_signature': False})\n",
    "py-literal-signing-key": "import jwt\njwt.encode(claims, 'key', algorithm='HS256')\n",
    "py-cookie-unprotected": "response.set_cookie('session', token)\n",
    "py-debug-mode": "app.run(debug=True)\n",
    "py-traceback-to-client": "import traceback\n\n@app.get('/')\ndef f():\n    return {'e': traceback.format_exc()}\n",
    "py-tls-not-verified": "import ssl\nssl._create_unverified_context()\n",
    "py-any-origin-with-credentials": "app.add_middleware(CORSMiddleware, allow_origins=['*'], allow_credentials=True)\n",
    "py-weak-cipher": "from Crypto.Cipher import AES\nAES.new(key, AES.MODE_ECB)\n",
    "py-constant-nonce": "from Crypto.Cipher import AES\nAES.new(key, AES.MODE_CBC, b'0000000000000000')\n",
    "py-weak-key-stretching": "import hashlib\nhashlib.pbkdf2_hmac('sha256', p, s, 1000)\n",
    "py-temporary-file-race": "import tempfile\ntempfile.mktemp()\n",
    "py-assert-authorisation": "assert user.is_admin, 'no'\n",
    "py-csrf-off": "@csrf_exempt\ndef view(request):\n    pass\n",
    "py-world-writable": "import os\nos.chmod(p, 0o777)\n",
    "py-secret-in-log": "logger.info(f'login {password}')\n",
    "js-code-from-text": "eval(x);\n",
    "js-timer-from-text": "setTimeout('f()', 1);\n",
    "js-html-from-variable": "el.innerHTML = text;\n",
    "js-page-input-to-html": "el.innerHTML = location.hash;\n",
    "js-shell-command": "const { exec } = require('child_process');\nexec('ls ' + x);\n",
    "js-sql-injection": "db.query(`SELECT * FROM t WHERE n = ${x}`);\n",
    "js-request-to-path": "app.get('/', (req, res) => { fs.readFile(req.query.f, cb); });\n",
    "js-request-to-redirect": "app.get('/', (req, res) => { res.redirect(req.query.u); });\n",
    "js-request-to-fetch": "app.get('/', async (req, res) => { await fetch(req.query.u); });\n",
    "js-request-to-html": "app.get('/', (req, res) => { res.send('<p>' + req.query.n); });\n",
    "js-request-to-mongo": "app.post('/', (req, res) => { User.findOne(req.body); });\n",
    "js-weak-hash": "crypto.createHash('md5');\n",
    "js-predictable-token": "const token = Math.random().toString(36);\n",
    "js-jwt-not-verified": "jwt.verify(t, k, { algorithms: ['none'] });\n",
    "js-literal-signing-key": "jwt.sign({}, 'shh');\n",
    "js-tls-not-verified": "https.request({ rejectUnauthorized: false });\n",
    "js-message-to-any-origin": "w.postMessage(data, '*');\n",
    "js-cookie-unprotected": "res.cookie('a', b, { httpOnly: false });\n",
    "js-unsafe-deserialiser": "serialize.unserialize(x);\n",
    "js-prototype-pollution": "o.__proto__ = x;\n",
    "tpl-escaping-off": "<p>{{ text | safe }}</p>\n",
    "tpl-reaches-python": "{{ ''.__class__ }}\n",
}
RIGHT = {
    "commands.py": "import subprocess\nsubprocess.run(['ls', folder], check=True)\n",
    "number.py": WEB + "return redirect(f'/items/{int(value)}')\n",
    "checked.py": API
    + "path = (BASE / value).resolve()\n    if not path.is_relative_to(BASE):\n        raise ValueError\n    return path.read_text()\n",
    "basename.py": API + "return open(os.path.join(BASE, os.path.basename(value))).read()\n",
    "fixed_host.py": API + "return httpx.get(f'https://api.example.com/{value}', timeout=5)\n",
    "marks.py": API + "db.execute('select * from t where n = ?', (value,))\n",
    "allowed.py": API
    + "if value not in COLUMNS:\n        raise ValueError\n    return db.execute(f'select * from t order by {value}')\n",
    "escaped.py": WEB + "return f'<h1>{escape(value)}</h1>'\n",
    "regex.py": WEB + "return str(re.search(re.escape(value), 'x'))\n",
    "hash.py": "import hashlib\nhashlib.sha256(content).hexdigest()\nargon2.PasswordHasher().hash(password)\n",
    "token.py": "import random, secrets\ntoken = secrets.token_hex(16)\nchoice = random.choice(items)\ntoken_count = len(x)\n",
    "yaml_safe.py": "import yaml\nyaml.safe_load(x)\nyaml.load(x, Loader=yaml.SafeLoader)\n",
    "jwt_ok.py": "import jwt\njwt.decode(t, key, algorithms=['HS256'])\njwt.encode(c, settings.key, algorithm='HS256')\n",
    "cookie.py": "response.set_cookie('session', t, httponly=True, secure=True, samesite='lax')\nresponse.set_cookie('theme', 'dark')\n",
    "confirm.py": "if data.password2 != data.password:\n    raise ValueError('differ')\n",
    "log.py": "logger.info('password changed for %s', user.name)\nprint('enter password')\n",
    "module.py": "import importlib\nimportlib.import_module('json')\n__import__('json')\n",
    "ok.js": "el.textContent = text;\nel.innerHTML = '<b>fixed</b>';\nsetTimeout(() => f(), 1);\ndb.query('SELECT * FROM t WHERE n = ?', [x]);\nconst spot = Math.random();\nconst m = /x/.exec(text);\n",
    "ok.ts": "const f = (x: number): number => x + 1;\nexport default f;\nconst id: string = crypto.randomUUID();\n",
    "ok.html": "<p>{{ text }}</p>\n<script>document.title = 'x';</script>\n",
}


def suffix(rule: str) -> str:
    return {"py": ".py", "js": ".js", "tp": ".html"}[rule[:2]]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    root = tmp_path_factory.mktemp("wrong")
    for rule, text in WRONG.items():
        (root / (rule + suffix(rule))).write_text(text)
        if suffix(rule) == ".js":
            (root / (rule + ".ts")).write_text(text)
    return run_gates(root, tools=["semgrep"])


@pytest.mark.parametrize("rule", WRONG)
def test_the_rule_fires_on_its_mistake(rule: str, wrong: GateReport) -> None:
    fired = {finding.path for finding in wrong.findings if finding.rule == rule}
    assert rule + suffix(rule) in fired
    assert suffix(rule) != ".js" or rule + ".ts" in fired


def test_every_rule_has_an_example_a_cwe_and_a_remediation() -> None:
    rules = {rule["id"]: rule for rule in json.loads(rules_json())["rules"]}
    assert set(rules) == set(WRONG)
    for rule in rules.values():
        assert rule["metadata"]["cwe"].startswith("CWE-")
        assert rule["metadata"]["confidence"] in ("LOW", "MEDIUM", "HIGH")
        assert len(rule["metadata"]["remediation"]) > 10


def test_the_right_way_raises_nothing(tmp_path: Path) -> None:
    for name, text in RIGHT.items():
        (tmp_path / name).write_text(text)
    report = run_gates(tmp_path, tools=["semgrep"])
    assert [(finding.path, finding.rule) for finding in report.findings] == []
    assert report.verdict == "pass"
    assert report.tools["semgrep"].files_scanned == len(RIGHT)


def test_a_script_that_does_not_parse_blocks_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.js").write_text("let x = 1;\nfunction( {{{ nonsense\n")
    report = run_gates(tmp_path, tools=["semgrep"])
    assert report.verdict == "blocked"
    assert "broken.js" in report.reasons[0]
