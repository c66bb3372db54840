for (const head of document.querySelectorAll("th")) {
  const cell = (row) => row.cells[head.cellIndex];
  const value = (row) => cell(row).dataset.value ?? cell(row).textContent;
  const number = (text) => Number(text.replace("%", ""));
  const compare = (a, b) => {
    const difference = number(value(a)) - number(value(b));
    return isNaN(difference) ? value(a).localeCompare(value(b)) : difference;
  };
  const sort = () => {
    const body = head.closest("table").tBodies[0], rows = [...body.rows].sort(compare);
    const isDescending = head.ariaSort === "ascending";
    for (const other of head.parentElement.cells) other.ariaSort = null;
    head.ariaSort = isDescending ? "descending" : "ascending";
    body.append(...(isDescending ? rows.reverse() : rows));
  };
  head.tabIndex = 0;
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
}
for (const contents of document.querySelectorAll(".contents")) {
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "filter";
  filter.addEventListener("input", () => {
    for (const row of contents.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase());
      document.querySelector(row.querySelector("a").hash).hidden = row.hidden;
    }
  });
  contents.before(filter);
}
