"""What scripts define, export, import and borrow."""

from agents.languages.definitions import dropped
from agents.languages.node.definitions import borrows, definitions_of, exported_names, imported_names
from tests.tables import each_row

COMMON = """#!/usr/bin/env node
"use strict";
const fs = require("node:fs");
const { join, resolve: absolute } = require("path");
const RATE = 0.2, LIMIT = 10;
var old = function () {};
function total(items) { return 0; }
async function* rows() {}
class Cart {
  static size = 1;
  #items = [];
  get count() { return 0; }
  set count(value) {}
  add = (item) => item;
}
Cart.prototype.clear = function () {};
exports.taxed = (items) => total(items);
if (fs) {
  var late = 1;
}
module.exports = { total, Cart, extra() {} };
"""
TYPED = """import type { Row } from "./rows.js";
import fs, { type Stats, readFile as load } from "node:fs";
export { helper as helped } from "./helper.js";
export interface Item { name: string; price(): number }
export type Id = string;
export enum Color { Red, Green = 2 }
export function f(a: string): string;
export function f(a: number): string;
export function f(a: unknown): string { return String(a); }
export default abstract class Base<T> {
  private name = "";
  abstract run(): void;
  @logged save(): void {}
}
"""
TESTS = """import { test, describe, beforeEach } from "node:test";
function made() {}
describe("cart", () => {
  beforeEach(() => {});
  const one = 1;
  test("adds 1.5", () => {});
  it.each([1])("case %i", () => {});
});
test("stands alone", async () => {});
"""


def names(path: str, source: str) -> list[str]:
    return [f"{one.kind} {one.title}" for one in definitions_of(path, source) or []]


def test_definitions_of_a_common_module() -> None:
    assert names("cart.js", COMMON) == [
        "value RATE",
        "value LIMIT",
        "function old",
        "function total",
        "function rows",
        "class Cart",
        "value Cart.size (static)",
        "value Cart.#items",
        "function Cart.count (getter)",
        "function Cart.count (setter)",
        "function Cart.add",
        "function Cart.clear",
        "function taxed",
        "value late",
        "function extra",
    ]
    late = next(one for one in definitions_of("cart.js", COMMON) or [] if one.name == "late")
    assert (late.conditional, late.first, late.last) == (True, 19, 19)


def test_definitions_of_typescript_with_overloads_and_members() -> None:
    assert names("a.ts", TYPED) == [
        "class Item",
        "value Item.name",
        "function Item.price",
        "value Id (type)",
        "class Color",
        "value Color.Red",
        "value Color.Green",
        "function f (overload)",
        "function f (overload, number 2)",
        "function f",
        "class Base",
        "value Base.name",
        "function Base.run",
        "function Base.save",
    ]


def test_a_test_file_defines_its_tests_and_what_runs_around_them() -> None:
    rows = definitions_of("tests/cart.test.js", TESTS) or []
    assert [(one.name, one.is_test) for one in rows] == [
        ("made", False),
        ("cart > beforeEach", False),
        ("cart > one", False),
        ("cart > adds 1.5", True),
        ("cart > case %i", True),
        ("stands alone", True),
    ]
    assert next(one.name for one in definitions_of("src/cart.js", TESTS) or []) == "made"


def test_a_route_is_a_definition_so_that_it_cannot_leave_unseen() -> None:
    old = 'app.get("/users", list);\napp.listen(80);\nprogram.command("add <x>").action((x) => x);\n'
    rows = definitions_of("app.js", old) or []
    assert [one.name for one in rows] == ["app.get /users", "program.command add <x>"]
    assert [one.name for one in dropped(rows, definitions_of("app.js", "app.listen(80);\n") or [], set())] == [
        "app.get /users",
        "program.command add <x>",
    ]


def test_what_is_exported_and_imported_in_each_way() -> None:
    assert exported_names(COMMON) == {"taxed", "total", "Cart", "extra"}
    assert exported_names(TYPED) == {"helped", "Item", "Id", "Color", "f", "default"}
    assert imported_names(COMMON) == {"fs", "join", "absolute"}
    assert imported_names(TYPED) == {"Row", "fs", "Stats", "load", "helped"}


@each_row(
    ("part", "borrowed"),
    [
        ("function taxed(items) { return total(items) * RATE; }\n", True),
        ("const taxed = (total) => total * 2;\n", False),
        ('const { total } = require("./sums");\nmodule.exports = total(1);\n', False),
        ("const x = fs.readFileSync(join('a'));\n", True),
        ("function rate() { try { g(); } catch (RATE) { return RATE; } }\n", False),
    ],
)
def test_a_part_borrows_what_only_the_file_has(part: str, borrowed: bool) -> None:
    assert borrows(COMMON, part) is borrowed


def test_a_text_that_does_not_parse_says_nothing() -> None:
    assert definitions_of("a.js", "function (") is None
    assert exported_names("function (") == imported_names("function (") == set()
    assert not borrows(COMMON, "function (")
