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
