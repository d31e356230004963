import test from "node:test";
import assert from "node:assert/strict";
import { wrap } from "../src/wrap.js";

import fill from "../src/wrap.js";

test("a long word stays whole", () => {
  assert.deepEqual(wrap("a verylongword b", { width: 5 }), ["a", "verylongword", "b"]);
});

test("lines are joined", () => {
  assert.equal(fill("one two three", { width: 8, indent: "> " }), "> one two\n> three");
});
