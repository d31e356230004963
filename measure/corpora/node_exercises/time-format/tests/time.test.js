import test from "node:test";
import assert from "node:assert/strict";
import { format, parse, parts } from "../src/time.js";

test("an hour shows", () => {
  assert.equal(format(3661), "1:01:01");
  assert.equal(format(61), "1:01");
});

test("there and back again", () => {
  assert.equal(parse("1:01:01"), 3661);
  assert.deepEqual(parts(59), [0, 0, 59]);
});
