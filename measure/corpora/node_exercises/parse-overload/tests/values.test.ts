import test from "node:test";
import assert from "node:assert/strict";
import { parse, guess } from "../src/values.js";

test("words in any case", () => {
  assert.equal(parse(" Yes ", "boolean"), true);
  assert.equal(parse("OFF", "boolean"), false);
  assert.throws(() => parse("maybe", "boolean"), SyntaxError);
});

test("kinds are guessed", () => {
  assert.deepEqual(["1", "on", "x"].map(guess), ["number", "boolean", "text"]);
});
