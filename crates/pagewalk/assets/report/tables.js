// Tables can be sorted by each column, and longer ones filtered.
(() => {
  "use strict";
  const { make } = pagewalk;
  const LONG = 8;

  // A cell as a number, whatever its sign, its spaces and its unit; texts without one are not numbers.
  const number = (text) => Number.parseFloat(text.replace(/[\u202f\u00a0 ]/g, "").replace("−", "-"));
  const compare = {
    number: (one, other) => {
      const [a, b] = [number(one), number(other)];
      return Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a - b;
    },
    text: (one, other) => one.localeCompare(other, "en", { numeric: true }),
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const numeric = head.classList.contains("number");
      const button = make("button", "↕", { type: "button", class: "sort", "aria-label": `Sort by ${head.textContent.trim()}` });
      head.append(button);
      // Numbers begin with the greatest; the third time, the order is that of the page again.
      const orders = numeric ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
      button.addEventListener("click", () => {
        const order = orders[(orders.indexOf(head.getAttribute("aria-sort") ?? "none") + 1) % 3];
        for (const other of heads) {
          other.removeAttribute("aria-sort");
          other.querySelector(".sort").textContent = "↕";
        }
        const text = (row) => row.cells[column].textContent;
        const by = compare[numeric ? "number" : "text"];
        const sorted = [...rows];
        if (order !== "none") {
          head.setAttribute("aria-sort", order);
          button.textContent = order === "ascending" ? "↑" : "↓";
          // What has no number comes last in either order.
          const missing = (row) => numeric && Number.isNaN(number(text(row)));
          sorted.sort((one, other) => {
            if (missing(one) || missing(other)) return Number(missing(one)) - Number(missing(other));
            return order === "ascending" ? by(text(one), text(other)) : by(text(other), text(one));
          });
        }
        body.append(...sorted);
      });
    });
  };

  const filterable = (table, before) => {
    const rows = [...table.tBodies[0].rows];
    const input = make("input", [], { type: "search", "aria-label": `Filter: ${table.caption.textContent}`, placeholder: "Filter rows" });
    const shown = make("output", `${rows.length} rows`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = [...row.cells].map((cell) => cell.textContent.toLowerCase()).join("\n");
        row.hidden = !words.every((word) => text.includes(word));
      }
      const left = rows.filter((row) => !row.hidden).length;
      shown.textContent = left === rows.length ? `${rows.length} rows` : `${left} of ${rows.length} rows`;
    });
    before.before(make("div", [input, shown], { class: "filter" }));
  };

  for (const table of document.querySelectorAll("table[data-table]")) {
    const count = table.tBodies[0].rows.length;
    if (count > 1) sortable(table);
    if (count >= LONG) filterable(table, table.parentElement);
  }
})();
