"use strict";
// Clicking a column heading sorts its table.
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
function onClick(element, act) {
  element.tabIndex = 0;
  element.addEventListener("click", () => act(element));
  element.addEventListener("keydown", (event) => event.key === "Enter" && act(element));
}
// A list of links to parts of the page.
let named = 0;
function listed(places) {
  const list = document.createElement("ol");
  for (const place of places) {
    const item = document.createElement("li"), link = document.createElement("a");
    item.className = place.localName;
    place.id ||= `place-${++named}`;
    link.href = `#${place.id}`;
    link.textContent = [...(place.cells ?? [place])].map((part) => part.textContent.trim()).join(" · ");
    item.append(link);
    list.append(item);
  }
  return list;
}
// Contents of the page.
function made(heads) {
  const nav = document.createElement("nav"), fold = document.createElement("details"), summary = document.createElement("summary");
  nav.className = "contents";
  nav.setAttribute("aria-label", summary.textContent = "Contents");
  fold.append(summary, listed(heads));
  nav.append(fold);
  document.querySelector(".skip").after(nav);
  return nav;
}
// A field that finds headings, rows and captions.
function searchable(nav) {
  const field = document.createElement("input"), found = document.createElement("div");
  field.type = "search";
  field.placeholder = "Search this page";
  field.setAttribute("aria-label", field.placeholder);
  found.className = "found";
  found.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    const all = wanted ? [...document.querySelectorAll("main :is(h2, h3, h4, p, li, dt, figcaption, tbody tr)")] : [];
    const places = all.filter((place) => place.textContent.toLowerCase().includes(wanted));
    const rest = wanted && !places.length ? "Nothing found." : places.length > 30 ? `${places.length - 30} more` : "";
    found.replaceChildren(listed(places.slice(0, 30)), rest);
  });
  nav.prepend(field, found);
}
// Mark the part that is on the screen.
function follow(nav) {
  const links = [...nav.querySelectorAll("details a")];
  const above = links.filter((link) => document.getElementById(link.hash.slice(1))?.getBoundingClientRect().top < 120);
  for (const link of links) link.toggleAttribute("aria-current", link === above.at(-1));
}
// Tables that are wider than the screen have a hint.
const fits = new ResizeObserver((entries) => {
  for (const box of new Set(entries.map(({target}) => target.closest(".scroll"))))
    box.classList.toggle("wide", box.scrollWidth > box.clientWidth);
});
for (const part of document.querySelectorAll(".scroll, .scroll > *")) fits.observe(part);
for (const head of document.querySelectorAll("thead th")) onClick(head, sort);
const contents = made(document.querySelectorAll("h2[id], #numbers ~ section h3[id]"));
contents.querySelector("details").open = matchMedia("(min-width: 70rem)").matches;
searchable(contents);
addEventListener("scroll", () => follow(contents), {passive: true});
follow(contents);
document.documentElement.classList.add("live");
