import test from "node:test";
import assert from "node:assert/strict";
import { order, graph, Circle } from "../src/graph.js";

test("a circle is refused", () => {
  assert.throws(() => order(graph({ a: ["b"], b: ["a"] })), Circle);
});

test("what is needed comes first", () => {
  assert.deepEqual(order(graph({ a: ["b", "c"], b: ["c"], c: [] })), ["c", "b", "a"]);
});
