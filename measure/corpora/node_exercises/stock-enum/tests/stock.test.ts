import test from "node:test";
import assert from "node:assert/strict";
import { Stock, State } from "../src/stock.js";

test("what is reserved is not taken twice", () => {
  const stock = new Stock(["a", "b", "c"]);
  assert.deepEqual(stock.reserve(2), ["a", "b"]);
  assert.deepEqual(stock.reserve(2), []);
  assert.deepEqual(stock.reserve(1), ["c"]);
});

test("states are counted", () => {
  assert.equal(new Stock(["a"]).count(State.Free), 1);
});
