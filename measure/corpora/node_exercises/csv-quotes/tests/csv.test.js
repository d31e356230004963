import test from "node:test";
import assert from "node:assert/strict";
import { parseLine, parse, quote } from "../src/csv.js";

test("a doubled quote is one", () => {
  assert.deepEqual(parseLine('a,"b ""c"", d"'), ["a", 'b "c", d']);
});

test("rows are named by the head", () => {
  assert.deepEqual(parse("a,b\n1,2\n3\n"), [{ a: "1", b: "2" }, { a: "3", b: "" }]);
  assert.equal(quote("a,b"), '"a,b"');
});
