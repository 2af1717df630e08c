// SPDX-License-Identifier: Apache-2.0
// Dark, light, or what the system prefers; remembered.
import { Signal } from "./store.js";

const KEY = "rondo.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : "system";
  } catch {
    return "system";
  }
}

/** choice: system, dark, light; shown: dark, light */
export const theme = new Signal({ choice: stored(), shown: "dark" });

function apply(choice) {
  const shown = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
  document.documentElement.dataset.theme = shown;
  theme.value = { choice, shown };
}

export function chooseTheme(choice) {
  try {
    if (choice === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // Then it counts for this page only.
  }
  apply(choice);
}

dark.addEventListener("change", () => apply(theme.value.choice));
apply(theme.value.choice);
