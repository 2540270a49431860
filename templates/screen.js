"use strict";
// Clicking a column heading sorts its table; clicking a figure enlarges it.
const scales = {Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, n: 1e-9, µ: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12};
function size(text) {
  const found = text.match(/^\W*?(-?[\d.]+(?:e[-+]\d+)?)(\^\d+)?\s*((?:[KMGT]i(?=B)|[nµm](?=s\b)|[kMGT])?)/);
  if (!found) return null;
  return found[1] ** (found[2] ? found[2].slice(1) : 1) * (scales[found[3]] ?? 1);
}
function compare(one, other) {
  const [a, b] = [size(one), size(other)];
  if (a !== null && b !== null) return a - b;
  return (a === null) - (b === null) || one.localeCompare(other);
}
function sort(head) {
  const table = head.closest("table"), body = table.tBodies[0], column = head.cellIndex;
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const text = (row) => row.cells[column].textContent.trim();
  const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * compare(text(a), text(b)));
  body.append(...rows);
}
function enlarge(picture) {
  const dialog = document.createElement("dialog");
  dialog.append(picture.cloneNode(true));
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
function onClick(element, act) {
  element.tabIndex = 0;
  element.addEventListener("click", () => act(element));
  element.addEventListener("keydown", (event) => event.key === "Enter" && act(element));
}
for (const head of document.querySelectorAll("thead th")) onClick(head, sort);
for (const picture of document.querySelectorAll("figure svg")) onClick(picture, enlarge);
document.documentElement.classList.add("live");
