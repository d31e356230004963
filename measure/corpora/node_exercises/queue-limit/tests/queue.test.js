import test from "node:test";
import assert from "node:assert/strict";
import { Queue, of } from "../src/queue.js";

test("a full queue refuses", () => {
  const queue = new Queue(1).push("a");
  assert.throws(() => queue.push("b"), RangeError);
  assert.equal(queue.size, 1);
});

test("items leave in their order", () => {
  const queue = of(1, 2);
  assert.deepEqual([...queue], [1, 2]);
  assert.equal(queue.shift(), 1);
});
