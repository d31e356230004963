import test from "node:test";
import assert from "node:assert/strict";
import { add, money, convert } from "../src/money.js";

test("two currencies do not add up", () => {
  assert.throws(() => add(money(1), money(1, "USD")), TypeError);
});

test("one currency does", () => {
  assert.deepEqual(add(money(1), money(2)), { amount: 3, currency: "EUR" });
  assert.equal(convert(money(2), "USD", () => 1.5).amount, 3);
});
