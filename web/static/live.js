// Tells the page that something happened, without being asked: what the server sends
// is a number that moves and how many conflicts are open. One tab of a browser listens and tells
// the others, since browsers open few connections to one server. Pages that show more
// of it hear "slotkeeper:news" on the document.
"use strict";

(() => {
  const badge = document.getElementById("open-conflicts");
  if (!badge || !window.EventSource) return;
  const toast = document.getElementById("live-alert");
  const frame = document.body.dataset;
  let conflicts = Number(badge.dataset.count);
  let last = null;

  // A sound may be played only after somebody touched the page.
  let audio = null;
  if (frame.sound) {
    const allow = () => { audio ??= new AudioContext(); };
    addEventListener("pointerdown", allow, { once: true });
    addEventListener("keydown", allow, { once: true });
  }
  const play = () => {
    if (!audio) return;
    audio.resume();
    [[0, 660], [0.18, 880]].forEach(([after, pitch]) => {
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      const at = audio.currentTime + after;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.12, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + 0.3);
      tone.connect(volume).connect(audio.destination);
      tone.start(at);
      tone.stop(at + 0.32);
    });
  };

  const count = (n) => (n === 1 ? frame.conflict : frame.conflicts.replace("#", n));
  const show = (n) => {
    badge.hidden = n === 0;
    badge.dataset.count = n;
    badge.firstElementChild.textContent = n;
    badge.lastElementChild.textContent = `(${count(n)})`;
    document.title = document.title.replace(/^\(\d+\) /, "");
    if (n > 0) document.title = `(${n}) ${document.title}`;
  };
  const warn = (n) => {
    toast.querySelector("a").textContent = count(n);
    toast.hidden = false;
    toast.querySelector("button").onclick = () => { toast.hidden = true; };
    play();
  };

  const heard = (news) => {
    if (last && news.seq === last.seq && news.conflicts === last.conflicts) return;
    last = news;
    if (news.conflicts !== conflicts) {
      const more = news.conflicts > conflicts;
      conflicts = news.conflicts;
      show(conflicts);
      if (more) warn(conflicts);
      else if (conflicts === 0) toast.hidden = true;
    }
    document.dispatchEvent(new CustomEvent("slotkeeper:news", { detail: news }));
  };

  // A page that is no longer live says so: else it would be taken for what is. Whoever
  // puts that away still sees it in the frame.
  const notice = document.getElementById("live-lost");
  const off = document.getElementById("live-off");
  let state = "";
  let fading = 0;
  const say = (part) => {
    notice.dataset.says = part;
    notice.hidden = !part;
    if (off) off.hidden = !part || part === "back";
    for (const each of notice.querySelectorAll("[data-state]")) each.hidden = each.dataset.state !== part;
  };
  notice?.querySelector("button").addEventListener("click", () => { notice.hidden = true; });
  const tell = (next) => {
    // What the page was made for is gone until it is read anew.
    if (state === "changed" && next !== "over") return;
    if (next === state) return;
    const back = state === "lost" && !next;
    state = next;
    if (!notice) return;
    // Who was told that it is lost is told that it is back, and then left in peace.
    clearTimeout(fading);
    say(back ? "back" : next);
    if (back) fading = setTimeout(say, 8000, "");
    notice.querySelectorAll("a").forEach((link) => {
      const here = location.pathname + location.search;
      link.href = next === "over" ? `/signin?next=${encodeURIComponent(here)}` : here;
    });
  };

  const others = window.BroadcastChannel ? new BroadcastChannel("slotkeeper-live") : null;
  let leads = false;
  if (others) {
    others.onmessage = ({ data }) => {
      if (data.ask) {
        if (leads && state) others.postMessage({ state });
        if (leads && last) others.postMessage(last);
      } else if ("state" in data) {
        tell(data.state);
      } else {
        heard(data);
      }
    };
    others.postMessage({ ask: true });
  }

  let source = null;
  const listen = () => new Promise(() => {
    leads = true;
    let refusals = 0;
    const all = (next) => {
      others?.postMessage({ state: next });
      tell(next);
    };
    const open = () => {
      source = new EventSource("/live");
      let silence = 0;
      const again = (least, spread) => {
        clearTimeout(silence);
        source.close();
        setTimeout(open, least + Math.random() * spread);
      };
      // A server that hangs breaks nothing off: it only falls silent, though it says
      // every ten seconds that it is there.
      const alive = () => {
        clearTimeout(silence);
        silence = setTimeout(() => {
          if (state !== "over") all("lost");
          again(2000, 2000);
        }, 31000);
      };
      alive();
      source.addEventListener("alive", alive);
      source.addEventListener("news", (event) => {
        refusals = 0;
        alive();
        all("");
        const news = JSON.parse(event.data);
        others?.postMessage(news);
        heard(news);
      });
      // The session ended, got another token, or may see something else: what it is
      // the next stream tells, at once.
      source.addEventListener("end", (event) => {
        if (JSON.parse(event.data).changed) all("changed");
        again(300, 1700);
      });
      source.addEventListener("over", () => {
        all("over");
        again(45000, 30000);
      });
      source.addEventListener("error", () => {
        if (state !== "over") all("lost");
        // No room, or a proxy whose server is away: the browser gives up by itself. A
        // server that starts anew is back in seconds, a full one is left alone.
        if (source.readyState === EventSource.CLOSED) {
          const wait = Math.min(45000, 2000 * 2 ** refusals++);
          again(wait, wait / 1.5);
        }
      });
    };
    open();
  });
  // Locks are there on secure origins only; elsewhere each tab listens for itself.
  if (others && navigator.locks) navigator.locks.request("slotkeeper-live", listen).catch(() => {});
  else listen();
  // A page that is left lets go at once, and one that is come back to begins anew.
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
