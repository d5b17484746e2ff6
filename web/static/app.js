// Nothing here is needed to use a page: it adds a copy button to what is meant
// to be pasted elsewhere.
"use strict";

const words = document.body.dataset;
for (const code of document.querySelectorAll("code.copy")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy-button";
  button.textContent = words.copy;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = words.copied;
  });
  code.after(" ", button);
}
