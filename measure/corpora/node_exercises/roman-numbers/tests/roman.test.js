const test = require("node:test");
const assert = require("node:assert/strict");
const { toRoman, fromRoman } = require("../lib/roman.js");

test("fours and nines", () => {
  assert.equal(toRoman(1949), "MCMXLIX");
});

test("there and back again", () => {
  assert.equal(fromRoman("XIV"), 14);
  assert.ok(Number.isNaN(fromRoman("IL")));
});
