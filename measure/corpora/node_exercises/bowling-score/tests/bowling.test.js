import test from "node:test";
import assert from "node:assert/strict";
import { score, frames } from "../src/bowling.js";

test("a perfect game", () => {
  assert.equal(score(Array(12).fill(10)), 300);
});

test("a spare counts one roll more", () => {
  assert.equal(score([5, 5, 3, ...Array(17).fill(0)]), 16);
  assert.equal(frames([1, 2, 3, 4]).length, 2);
});
