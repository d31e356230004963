"""Which weakness belongs to which category, and which numbers name the same thing."""

from __future__ import annotations

_CATEGORIES = {
    "path traversal": {22, 23, 36, 73, 99, 641, 425},
    "open redirect": {601},
    "LDAP injection": {90},
    "XPath injection": {643},
    "trust boundary": {501},
    "command injection": {78, 77, 88},
    "SQL and NoSQL injection": {89, 564, 943},
    "cross-site scripting": {79, 80, 83, 87, 116},
    "code and template injection": {94, 95, 470, 1321, 1336},
    "deserialisation": {502},
    "XML entities": {611, 776, 827},
    "request forgery by the server": {918},
    "cryptography and randomness": {
        295,
        297,
        319,
        321,
        326,
        327,
        328,
        329,
        330,
        331,
        338,
        339,
        347,
        759,
        760,
        916,
        1204,
    },
    "credentials and secrets": {256, 257, 259, 312, 521, 522, 532, 798},
    "authentication and sessions": {208, 284, 285, 287, 306, 346, 352, 384, 385, 614, 862, 863, 915, 942, 1004, 1275},
    "files and permissions": {250, 269, 276, 367, 377, 378, 379, 434, 732},
    "headers, logs, errors": {113, 117, 200, 209, 215, 489, 1236},
    "regular expressions and resources": {400, 730, 770, 1333},
}
# The five categories with a goal of their own.
MUST_SHOW = ("path traversal", "open redirect", "LDAP injection", "XPath injection", "trust boundary")

# Numbers that a scanner may rightly use for the same fault, beside the number itself.
_RELATED = {
    22: {23, 36, 59, 73, 99, 434, 552, 641},
    601: {20},
    90: {74},
    643: {74, 91},
    501: {20, 269, 384, 454, 807, 915},
    78: {77, 88},
    89: {564, 943},
    79: {80, 83, 116},
    94: {95, 96, 98, 470, 749, 913},
    1336: {79, 94, 95, 917},
    502: {94},
    611: {20, 776, 827},
    327: {326, 328, 329, 330, 338, 916, 1204},
    326: {327},
    330: {331, 338, 340},
    916: {327, 328, 759, 760},
    295: {297, 322, 345},
    798: {259, 321, 522},
    306: {284, 285, 287, 425, 862, 863},
    862: {284, 285, 306, 639, 863},
    347: {287, 290, 327, 345},
    117: {93, 532},
    113: {74, 79, 93},
    434: {22, 73},
    209: {200, 489, 497},
    489: {94, 215, 209, 605, 614},  # Bandit files Flask's debugger under 94: it runs code
    614: {311, 315, 1004, 1275},
    942: {284, 346, 693},
    732: {276, 275},
    377: {378, 379, 22},
    1333: {185, 400, 625, 730},
    943: {20, 74, 89, 94, 95},
    915: {913},
    256: {257, 312, 522, 916},
    319: {311, 522},
    208: {203, 385},
    532: {200, 312, 522},
    1321: {915, 1321, 400, 471},
    346: {79, 345, 942},
    605: {200, 284, 668, 1327},
}


def category(weakness: int) -> str:
    """The category of a CWE number; `others` for one in none."""
    return next((name for name, numbers in _CATEGORIES.items() if weakness in numbers), "others")


def related(weakness: int) -> set[int]:
    """The number and those that name the same fault, whichever of the two the table has first."""
    return {weakness} | _RELATED.get(weakness, set()) | {other for other, same in _RELATED.items() if weakness in same}
