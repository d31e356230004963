"""What prompts call things in JavaScript, TypeScript and React."""

from __future__ import annotations

from collections.abc import Sequence

from agents.languages.base import PromptWords

_RULES = """- Tests use the runner that package.json names; without one, node:test with node:assert/strict.
- An HTTP application is started by the test on port 0, asked with fetch (redirect: "manual") and closed in the end: no
  fixed port."""
_REACT = """- Tests use Vitest and @testing-library/react; the first line is // @vitest-environment jsdom
- Render the component, find elements by role, label or text as people do, act with @testing-library/user-event, and
  unmount with cleanup after each test. What a server answers is given by a fetch of the test's own."""
WORDS = PromptWords("javascript", "src/module.js", "tests/name.test.js", "test files for Node", _RULES)
_TYPED = PromptWords("typescript", "src/module.ts", "tests/name.test.ts", "test files for Node in TypeScript", _RULES)
_TSX = PromptWords("tsx", "src/Module.tsx", "tests/name.test.tsx", "Vitest files", _REACT)
_JSX = PromptWords("jsx", "src/Module.jsx", "tests/name.test.jsx", "Vitest files", _REACT)


def words_for(paths: Sequence[str]) -> PromptWords:
    """By the suffixes of a task's files: React where there is a component, else TypeScript where there is any."""
    for words, suffixes in ((_TSX, (".tsx",)), (_JSX, (".jsx",)), (_TYPED, (".ts", ".mts", ".cts"))):
        if any(path.endswith(suffixes) for path in paths):
            return words
    return WORDS
