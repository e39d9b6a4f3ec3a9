// Filters the claims by state and by paper. The page's address stores the choice.
"use strict";
(() => {
  const boxes = [...document.querySelectorAll("#filter input")];
  const chosen = (name) => new Set(boxes.filter((one) => one.name === name && one.checked).map((one) => one.value));

  function show() {
    const [states, papers] = [chosen("state"), chosen("paper")];
    let count = 0;
    for (const row of document.querySelectorAll("tr[data-state]")) {
      row.hidden = !states.has(row.dataset.state) || !papers.has(row.closest("[data-paper]").dataset.paper);
      count += !row.hidden;
    }
    for (const one of document.querySelectorAll("[data-experiment]")) {
      one.hidden = !one.querySelector("tr[data-state]:not([hidden])");
    }
    for (const paper of document.querySelectorAll("section[data-paper]")) {
      paper.hidden = !papers.has(paper.dataset.paper);
    }
    document.getElementById("shown").textContent = `${count} claims are shown.`;
    const off = boxes.filter((one) => !one.checked).map((one) => `${one.name}.${one.value}`);
    history.replaceState(null, "", off.length ? `#hide=${off.join(",")}` : location.hash.startsWith("#hide=") ? location.pathname : location.href);
  }

  const hidden = /^#hide=(.*)$/.exec(decodeURIComponent(location.hash))?.[1].split(",") ?? [];
  for (const box of boxes) {
    box.checked = !hidden.includes(`${box.name}.${box.value}`);
    box.addEventListener("change", show);
  }
  document.getElementById("filter").hidden = false;
  if (hidden.length) show();
})();
