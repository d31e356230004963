import test from "node:test";
import assert from "node:assert/strict";
import { map, ok, fail, unwrap } from "../src/result.js";

test("an error stays", () => {
  assert.deepEqual(map(fail("no"), () => 1), { ok: false, error: "no" });
});

test("a value changes", () => {
  assert.equal(unwrap(map(ok(2), (x) => x * 2), 0), 4);
});
