// Nothing here is needed to use a page: it adds a copy button to what is meant
// to be pasted elsewhere.
"use strict";

const words = document.body.dataset;
// What the server sent of the parts that change by themselves, before anything
// is added to them.
const live = new Map(Array.from(document.querySelectorAll("[data-live]"), (part) => [part, part.innerHTML]));

const addCopyButtons = (within) => {
  for (const code of within.querySelectorAll("code.copy")) {
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
};
addCopyButtons(document);

// What is under way is looked at again while the page is seen, more and more
// seldom, and only the parts that are marked for it change: nothing moves the
// focus, and a secret that is shown once stays.
if (live.size > 0) {
  let wait = 3000;
  const again = () => setTimeout(look, wait);
  const look = async () => {
    wait = Math.min(wait * 1.2, 30000);
    if (document.hidden) return again();
    try {
      // What a form was answered has an address that cannot be read again.
      const address = live.keys().next().value.dataset.live || location.pathname;
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) return again();
      const now = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const [part, shown] of live) {
        const next = now.getElementById(part.id);
        if (!next || next.innerHTML === shown || part.contains(document.activeElement)) continue;
        live.set(part, next.innerHTML);
        part.replaceChildren(...next.childNodes);
        addCopyButtons(part);
      }
      if (!now.querySelector("[data-live]")) {
        for (const waiting of document.querySelectorAll(".waiting")) waiting.remove();
        return;
      }
    } catch {
      // The server may be away for a moment.
    }
    again();
  };
  again();
}

// Ticking a box chooses the answer that the boxes belong to.
for (const boxes of document.querySelectorAll("[data-chooses]")) {
  boxes.addEventListener("change", (event) => {
    const answer = document.getElementById(boxes.dataset.chooses);
    if (answer && event.target.checked) answer.checked = true;
  });
}

// What belongs to one choice of a list is there only with it, and is not sent else.
for (const part of document.querySelectorAll("[data-shown-for]")) {
  const [id, value] = part.dataset.shownFor.split("=");
  const list = document.getElementById(id);
  const show = () => {
    part.hidden = list.value !== value;
    for (const field of part.querySelectorAll("input")) field.disabled = part.hidden;
  };
  list.addEventListener("change", () => {
    show();
    const folded = part.closest("details");
    if (folded && !part.hidden) folded.open = true;
  });
  addEventListener("pageshow", show);
  show();
}

// What is to be done with what is chosen opens with the first choice, where there is
// room for it; on a phone it would cover the list, and its line says how many.
const roomy = matchMedia("(min-width: 36.01rem) and (min-height: 28.01rem)");
for (const box of document.querySelectorAll("details[data-opens-on]")) {
  box.closest("form").addEventListener("change", ({ target }) => {
    if (roomy.matches && target.name === box.dataset.opensOn && target.checked) box.open = true;
  });
}

// A form that takes its time says so, and is sent once.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    const button = event.submitter;
    if (button) {
      button.textContent = form.dataset.busy;
      button.setAttribute("aria-busy", "true");
    }
  });
}
addEventListener("pageshow", (event) => {
  if (event.persisted && document.querySelector("form[data-sent]")) location.reload();
});
