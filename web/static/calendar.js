// What makes the calendar quicker to use; without it every link and form does the
// same by loading a page.
"use strict";

(() => {
  const calendar = document.getElementById("calendar");
  const region = document.getElementById("calendar-live");
  if (!calendar || !region) return;
  const find = (key) => document.querySelector(`[data-key="${key}"]`);
  const read = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) throw new Error("not there");
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  // Filters are folded away where they would fill the screen.
  const filters = document.querySelector(".filterbox");
  const narrow = matchMedia("(max-width: 56rem)");
  const fold = () => { if (filters) filters.open = !narrow.matches; };
  if (narrow.matches) fold();
  narrow.addEventListener("change", fold); // a tablet that is turned

  // The line that says what time it is.
  const moveNow = () => {
    for (const line of document.querySelectorAll(".now")) {
      const begins = Date.parse(line.dataset.begins);
      if (begins) line.style.setProperty("--t", (Date.now() - begins) / 300000);
    }
  };
  setInterval(moveNow, 30000);

  // A booking's detail opens beside the calendar, which stays as it is.
  const detail = () => document.getElementById("detail");
  const address = () => location.pathname + location.search;
  let opener = null;
  let shown = address();
  // Marks the booking whose detail is open.
  const mark = (href) => {
    for (const a of region.querySelectorAll("a[data-detail]")) {
      if (a.getAttribute("href") === href) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  };
  const close = () => {
    const open = detail();
    if (!open) return;
    history.replaceState(null, "", open.querySelector("[data-key=close]").href);
    shown = address();
    open.remove();
    mark(null);
    const back = opener && [...region.querySelectorAll("a[data-detail]")].find((a) => a.getAttribute("href") === opener);
    (back || calendar.querySelector("h1 a, .segments a"))?.focus({ preventScroll: true });
    opener = null;
    look();
  };
  const show = async (link) => {
    let found;
    try {
      found = (await read(link.href)).getElementById("detail");
    } catch {
      // What went wrong is said by the page itself.
    }
    if (!found) return location.assign(link.href);
    if (region.contains(link)) opener = link.getAttribute("href");
    mark(link.getAttribute("href"));
    detail()?.remove();
    region.before(document.adoptNode(found));
    history[history.state?.detail ? "replaceState" : "pushState"]({ detail: true }, "", link.href.replace(/#.*/, ""));
    shown = address();
    found.focus({ preventScroll: true });
  };
  calendar.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a");
    if (!link) return;
    if (link.dataset.key === "close") {
      event.preventDefault();
      close();
    } else if (link.dataset.key === "help") {
      event.preventDefault();
      help();
    } else if ("detail" in link.dataset) {
      event.preventDefault();
      show(link);
    }
  });
  // Back to what was shown before; a step within the page, as past its frame, is none.
  addEventListener("popstate", () => { if (address() !== shown) location.reload(); });

  // What changes is shown as it changes, unless somebody is at it: then it is said,
  // and waits. Neither the focus nor what is on the screen moves.
  const fresh = document.getElementById("live-fresh");
  const said = document.getElementById("live-said");
  let seq = Number(calendar.dataset.seq);
  let newest = seq;
  let drawn = region.innerHTML;
  let waiting = 0;
  const busy = () => {
    const selected = getSelection();
    return Boolean(detail()) || region.contains(document.activeElement) || Boolean(region.querySelector("details[open]")) ||
      (!selected.isCollapsed && region.contains(selected.anchorNode)) || Boolean(document.querySelector("dialog[open]"));
  };
  const keyOf = (e) => e.id || e.getAttribute("href");
  const anchor = () => {
    if (scrollY === 0) return null;
    for (const e of region.querySelectorAll("tr[id], .day-row, h2, .entry a, .pill a")) {
      const { top, height } = e.getBoundingClientRect();
      const key = keyOf(e);
      if (key && height && top >= 0) return { key, top };
    }
    return null;
  };
  const swap = (next) => {
    const at = anchor();
    const frame = region.querySelector(".grid-frame");
    const left = frame ? frame.scrollLeft : 0;
    region.replaceChildren(...next.childNodes);
    const now = region.querySelector(".grid-frame");
    if (now) now.scrollLeft = left;
    const same = at && [...region.querySelectorAll("tr[id], .entry a, .pill a")].find((e) => keyOf(e) === at.key);
    if (same) scrollBy(0, same.getBoundingClientRect().top - at.top);
    moveNow();
  };
  // To who sees some resources only the number is no count: it is another one when
  // something changed, and says no more.
  const counts = !("some" in calendar.dataset);
  const moved = () => (counts ? newest > seq : newest !== seq);
  const text = (n) => (!counts ? calendar.dataset.some : n === 1 ? fresh.dataset.single : fresh.dataset.several.replace("#", n));
  let underway = false;
  const look = async () => {
    clearTimeout(waiting);
    waiting = 0;
    if (!moved() || underway) return;
    const changes = counts ? newest - seq : 0;
    if (busy()) {
      fresh.firstElementChild.textContent = text(changes);
      fresh.lastElementChild.href = location.href;
      if (fresh.hidden) said.textContent = text(changes);
      fresh.hidden = false;
      return;
    }
    underway = true;
    try {
      const page = await read(location.href);
      const next = page.getElementById("calendar-live");
      if (!next) return;
      if (busy()) return soon();
      seq = Number(page.getElementById("calendar").dataset.seq);
      if (!counts) newest = seq; // what is told late is no reason to read again and again
      fresh.hidden = true;
      if (next.innerHTML === drawn) return;
      drawn = next.innerHTML;
      swap(next);
      for (const text of ["h1", ".sheet-head"]) document.querySelector(text).replaceChildren(...page.querySelector(text).childNodes);
      said.textContent = fresh.dataset.done;
    } catch {
      // The server may be away for a moment: it says so when it is back.
    } finally {
      underway = false;
      if (moved() && !waiting) soon();
    }
  };
  // Many pages do not all ask in the same moment.
  const soon = () => { waiting ||= setTimeout(look, 200 + Math.random() * 800); };
  document.addEventListener("slotkeeper:news", ({ detail: news }) => {
    newest = counts ? Math.max(newest, news.seq) : news.seq;
    if (moved()) soon();
  });
  region.addEventListener("focusout", soon);

  // Keys.
  const help = async () => {
    let sheet = document.getElementById("keys-sheet");
    if (!sheet) {
      const page = await read("/keys");
      sheet = document.createElement("dialog");
      sheet.id = "keys-sheet";
      sheet.className = "sheet";
      const heading = document.createElement("h2");
      heading.id = "keys-heading";
      heading.textContent = page.querySelector("h1").textContent;
      sheet.setAttribute("aria-labelledby", heading.id);
      const form = document.createElement("form");
      form.method = "dialog";
      const button = document.createElement("button");
      button.textContent = fresh.dataset.close;
      button.autofocus = true;
      form.append(button);
      sheet.append(heading, document.adoptNode(page.getElementById("keys")), form);
      document.body.append(sheet);
    }
    sheet.showModal();
  };
  const focusOn = (id) => {
    if (filters) filters.open = true;
    document.getElementById(id).focus();
  };
  const keys = {
    t: "today", p: "previous", k: "previous", n: "next", j: "next", a: "agenda", d: "day", w: "week", m: "month", r: "resources",
    "/": () => focusOn("q"), f: () => focusOn("resource"), z: () => focusOn("zone"), "?": help,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      if (typing) typing.blur();
      else close();
      return;
    }
    if (typing || !("keys" in calendar.dataset)) return;
    const does = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!does) return;
    event.preventDefault();
    if (typeof does === "function") does();
    else find(does)?.click();
  });
})();
