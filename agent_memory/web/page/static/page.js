// The page works without this: it adds copy buttons, and draws the status page anew while someone looks at it.
"use strict";

function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  // Home Assistant is often plain http, where the clipboard interface does not exist.
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied ? Promise.resolve() : Promise.reject(new Error("copy"));
}

function addCopyButtons() {
  for (const step of document.querySelectorAll(".step")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + step.querySelector("figcaption").textContent);
    button.addEventListener("click", () => {
      copyText(step.querySelector("code").textContent).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "Select and copy"; },
      ).finally(() => { button.focus(); setTimeout(() => { button.textContent = "Copy"; }, 2000); });
    });
    step.append(button);
  }
}

async function redraw() {
  const answer = await fetch(location.href, { cache: "no-store", redirect: "error" });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(old.id);
    // What someone stands in, or has opened, stays until they leave it.
    if (!next || next.outerHTML === old.outerHTML) continue;
    if (old.contains(document.activeElement) || old.querySelector("details[open]")) continue;
    old.replaceWith(document.adoptNode(next));
  }
}

function keepFresh(place) {
  let timer = 0;
  const button = document.createElement("button");
  button.type = "button";
  const run = (on) => {
    clearInterval(timer);
    timer = on ? setInterval(() => { if (!document.hidden) redraw().catch(() => {}); }, place.dataset.refreshS * 1000) : 0;
    button.textContent = on ? "Pause refresh" : "Refresh every " + place.dataset.refreshS + " s";
  };
  button.addEventListener("click", () => run(!timer));
  place.append(button);
  run(true);
}

addCopyButtons();
const place = document.getElementById("refresh");
if (place) keepFresh(place);
