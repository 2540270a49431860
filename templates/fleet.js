// Search: hide the rows of the list that do not contain the text.
for (const input of document.querySelectorAll("input[data-filters]")) {
  const table = document.getElementById(input.dataset.filters);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
// Comparison of two devices: a table of their key figures.
const devices = JSON.parse(document.getElementById("choices")?.textContent ?? "[]");
if (devices.length) {
  const [first, second] = document.querySelectorAll("select[data-device]");
  const body = document.getElementById("comparison").tBodies[0];
  const cell = (row, text, number) => {
    const made = row.insertCell();
    made.textContent = text;
    if (number) made.className = "number";
  };
  const show = () => {
    const [one, other] = [devices[first.value], devices[second.value]];
    body.replaceChildren();
    for (const [name, [speed, text]] of Object.entries(one.figures)) {
      const found = other.figures[name];
      if (!found) continue;
      const row = body.insertRow();
      cell(row, name);
      cell(row, text, true);
      cell(row, found[1], true);
      cell(row, speed ? (found[0] / speed).toFixed(3) : "", true);
    }
  };
  for (const [number, select] of [first, second].entries()) {
    select.append(...devices.map((device, index) => new Option(device.name, index)));
    select.value = Math.min(number, devices.length - 1);
    select.addEventListener("input", show);
  }
  show();
}
