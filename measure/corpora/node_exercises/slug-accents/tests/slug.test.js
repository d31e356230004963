const test = require("node:test");
const assert = require("node:assert/strict");
const { slug, unique, plain } = require("../lib/slug.js");

test("accents are dropped", () => {
  assert.equal(slug("Crème brûlée!"), "creme-brulee");
  assert.equal(plain("é"), "e");
});

test("a taken name gets a number", () => {
  assert.equal(unique("a", ["a", "a-2"]), "a-3");
});
