import test from "node:test";
import assert from "node:assert/strict";
import { spiral, transpose, sum } from "../src/matrix.js";

test("three by four", () => {
  assert.deepEqual(spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]), [1, 2, 3, 6, 9, 12, 11, 10, 7, 4, 5, 8]);
});

test("rows become columns", () => {
  assert.deepEqual(transpose([[1, 2], [3, 4]]), [[1, 3], [2, 4]]);
  assert.equal(sum([[1], [2]]), 3);
});
