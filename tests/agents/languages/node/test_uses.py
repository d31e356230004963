"""What scripts take from modules."""

from hypothesis import given
from hypothesis import strategies as st

from agents.languages.node.grammars import JAVASCRIPT, TSX, grammar_of_script
from agents.languages.node.uses import js_uses_of
from tests.tables import each_row


def names(text, path="a.js"):
    """Each use as module:attributes, with what is taken; bare modules are left out."""
    return [
        f"{use.module}:{'.'.join(use.attributes)}"
        for use in js_uses_of(text, grammar_of_script(path))
        if use.attributes
    ]


@each_row(
    ("text", "found"),
    [
        ("const fs = require('fs');\nfs.readFil('a');", ["fs:readFil"]),
        ("const fs = require('fs').promises;\nawait fs.readFil('a');", ["fs:promises.readFil"]),
        ("const { readFil: read } = require('fs');\nread('a');", ["fs:readFil"]),
        ("const { promises: { readFil } } = require('fs');\nreadFil('a');", ["fs:promises.readFil"]),
        ("require('os').cpu();", ["os:cpu"]),
        ("const url = await import('node:url');\nurl.pars('a');", ["node:url:pars"]),
        ("import { readFil } from 'node:fs';", ["node:fs:readFil"]),
        ("import { readFil as read } from 'node:fs';\nread('a').then(go);", ["node:fs:readFil"]),
        ("import * as fs from 'fs';\nfs.readFil('a');", ["fs:readFil"]),
        ("import fs from 'fs';\nfs.readFil('a');", ["fs:default", "fs:default.readFil"]),
        ("export { readFil } from 'fs';", ["fs:readFil"]),
        ("const stream = require('stream');\nclass A extends stream.Transfrm {}", ["stream:Transfrm"]),
        ("const stream = require('stream');\nnew stream.Transfrm();", ["stream:Transfrm"]),
        ("const fs = require('fs');\nfs.promise.readFile;", ["fs:promise"]),
        ("const x = require('@scope/pack-age/part');\nx.go();", ["@scope/pack-age/part:go"]),
    ],
)
def test_what_is_called_or_must_be_there_is_found(text, found):
    assert names(text) == found


@each_row(
    "text",
    [
        "const fs = require('fs');\nif (fs.cp) fs.cp('a', 'b');",
        "const fs = require('fs');\nif (fs.rm) old(); else fs.cp('a', 'b');",
        "const { cp, rm } = require('fs');\nif (cp) rm('a');",
        "const fs = require('fs');\nif (input.cp) input.cp('a'); else fs.cp('a');",
        "const fs = require('fs');\nif (kind === 1 && supportsCpio) fs.cpioSync('a');",
        "const fs = require('fs');\nother.cp ? 1 : fs.cp('a');",
        "const fs = require('fs');\nfs.cp?.('a');",
        "const fs = require('fs');\nfs?.cp('a');",
        "const fs = require('fs');\nfs.sub?.cp('a');",
        "const fs = require('fs');\nmixin(fs);\nfs.cp('a');",
        "const fs = require('fs');\nfs.cp = own;\nfs.cp('a');",
        "const fs = require('fs');\nfs['cp'] = own;\nfs.cp('a');",
        "const fs = require('fs');\nfunction f(fs) { fs.cp('a'); }",
        "const fs = require('fs');\nconst f = fs => fs.cp('a');",
        "let fs = require('fs');\nfs = better;\nfs.cp('a');",
        "const fs = require('fs');\nconst g = { fs };\nfs.cp('a');",
        "try { const fs = require('fs'); fs.cp('a'); } catch (error) { }",
        "const { cp = own } = require('fs');\ncp('a');",
        "const fs = require('fs');\nif (process.versions.node > '30') fs.cp('a');",
        "jest.mock('fs');\nconst fs = require('fs');\nfs.cp('a');",
        "define(function (require) { const fs = require('fs'); fs.cp('a'); });",
        "const fs = require('./fs');\nfs.cp('a');",
        "const fs = require('#fs');\nfs.cp('a');",
        "const fs = require(name);\nfs.cp('a');",
        "const fs = require(`fs`);\nfs.cp('a');",
        "import fs from 'https://example.org/fs.js';\nfs.cp('a');",
        "const size = require('fs').constants;",
        "const fs = require('fs'); function (",
    ],
)
def test_what_could_be_something_else_is_left_out(text):
    assert [name for name in names(text) if "cp" in name or "rm" in name] == []


def test_an_import_in_typescript_may_be_a_type_so_only_its_use_counts():
    text = "import fs, { Stats, type Dir, readFil } from 'fs';\nconst a: Stats = fs.statSyn('a');\nreadFil('b');\n"
    assert names(text, "a.ts") == ["fs:default.statSyn", "fs:readFil"]
    assert names("import { Flag } from 'flags';\nuse(Flag.A.b);\n", "a.ts") == []
    assert names("import type { Nothing } from 'fs';\n", "a.ts") == []


def test_a_module_of_node_is_told_even_without_names():
    assert [use.module for use in js_uses_of("import 'node:nothing';", JAVASCRIPT)] == ["node:nothing"]


def test_other_languages_have_no_such_uses():
    assert js_uses_of("import json", JAVASCRIPT) == []


@given(st.text(alphabet="abfs(){}[];=>.,'\"?:! \nrequireimport", max_size=200))
def test_any_text_can_be_read(text):
    assert isinstance(js_uses_of(text, JAVASCRIPT), list)
    assert isinstance(js_uses_of(f"import fs from 'fs';\nconst {{a}} = require('b');\n{text}", TSX), list)
