const test = require("node:test");
const assert = require("node:assert/strict");
const { parse, stringify } = require("../lib/query.js");

test("a list becomes pairs", () => {
  assert.equal(stringify({ b: [1, 2], a: "x y" }), "a=x%20y&b=1&b=2");
});

test("pairs become a list", () => {
  assert.deepEqual(parse("a=1&a=2&b=3"), { a: ["1", "2"], b: "3" });
});
