// The program as it is called.

import assert from "node:assert/strict";
import { test } from "node:test";

import { HELP, run } from "../src/cli.js";

function called(...args: string[]): { code: number; out: string; err: string } {
  let out = "";
  let err = "";
  const code = run(args, (text) => { out += text; }, (text) => { err += text; });
  return { code, out, err };
}

test("without arguments it shows its usage and ends well", () => {
  assert.deepEqual(called(), { code: 0, out: HELP, err: "" });
});

test("an unknown option is wrong use", () => {
  const { code, err } = called("--no-such-option");
  assert.equal(code, 2);
  assert.match(err, /no-such-option/);
});
