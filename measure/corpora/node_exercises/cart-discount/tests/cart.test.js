import test from "node:test";
import assert from "node:assert/strict";
import { total, lineTotal, isEmpty } from "../src/cart.js";

test("many pieces cost less", () => {
  assert.equal(total([{ price: 10, amount: 20 }]), 180);
});

test("a few cost what they cost", () => {
  assert.equal(total([{ price: 10, amount: 2 }]), 20);
  assert.equal(lineTotal({ price: 3, amount: 3 }), 9);
  assert.ok(isEmpty([]));
});
