import test from "node:test";
import assert from "node:assert/strict";
import { count, top, words } from "../src/words.js";

test("case does not matter", () => {
  assert.deepEqual([...count("The cat, the dog.")], [["the", 2], ["cat", 1], ["dog", 1]]);
});

test("the most frequent come first", () => {
  assert.deepEqual(top("b a A c b B", 2), [["b", 3], ["a", 2]]);
  assert.deepEqual(words("it's 2"), ["it's", "2"]);
});
