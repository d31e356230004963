import test from "node:test";
import assert from "node:assert/strict";
import { Cache, cached } from "../src/cache.mjs";

test("what is read stays", () => {
  const cache = new Cache(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  assert.equal(cache.get("a"), 1);
  assert.equal(cache.get("b"), undefined);
});

test("a value is computed once", () => {
  let calls = 0;
  const twice = cached((x) => ((calls += 1), x * 2));
  assert.equal(twice(2) + twice(2), 8);
  assert.equal(calls, 1);
});
