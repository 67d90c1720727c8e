"use strict";
// The page is whole without this: it adds a filter and an order to long tables.
for (const table of document.querySelectorAll("table.secondary")) {
  const groups = [...table.tBodies];
  if (groups.length < 6) continue;
  const tools = document.createElement("div");
  tools.className = "tools";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "filter: cpu, sda, worse …";
  input.setAttribute("aria-label", "Filter these metrics");
  const state = document.createElement("span");
  state.setAttribute("role", "status");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const g of groups) {
      const text = g.dataset.name.toLowerCase() + " " + g.textContent.toLowerCase();
      g.hidden = !words.every((w) => text.includes(w));
      if (!g.hidden) n++;
    }
    state.textContent = words.length ? n + " of " + groups.length : "";
  });
  const orders = [
    ["by difference", (a, b) => b.dataset.size - a.dataset.size],
    ["by name", (a, b) => a.dataset.name.localeCompare(b.dataset.name)],
  ];
  const buttons = orders.map(([name, compare]) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = name;
    b.setAttribute("aria-pressed", "false");
    b.addEventListener("click", () => {
      for (const o of buttons) o.setAttribute("aria-pressed", String(o === b));
      for (const g of [...groups].sort(compare)) table.append(g);
    });
    return b;
  });
  tools.append(input, ...buttons, state);
  table.caption.append(tools);
}
