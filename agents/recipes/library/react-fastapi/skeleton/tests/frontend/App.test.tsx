import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { App } from "../../frontend/src/App";

test("the page names the application", () => {
  render(<App />);
  expect(screen.getByRole("heading", { level: 1 }).textContent).toBe("__NAME__");
});
