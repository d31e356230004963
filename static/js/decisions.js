// @ts-check
/** The gate page: the button and the panel agree with the choices after every change. */

/** @param {string} name */
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`);

function agree() {
  let toFix = 0;
  for (const set of document.querySelectorAll("[data-weakness]")) {
    const radio = set.querySelector("input[type=radio]");
    const name = radio instanceof HTMLInputElement ? radio.name : "";
    const choice = chosen(name);
    const label = choice?.closest("label")?.textContent?.trim() ?? "";
    if (choice instanceof HTMLInputElement && choice.value === "fix") toFix += 1;
    const told = document.querySelector(`[data-choice="${name.replace("-disposition", "")}"]`);
    if (told) told.textContent = label.toLowerCase();
  }
  for (const button of document.querySelectorAll("[data-send]")) {
    if (!(button instanceof HTMLButtonElement)) continue;
    button.textContent = `Send back with ${toFix} finding${toFix === 1 ? "" : "s"}`;
  }
}

document.addEventListener("change", agree);
