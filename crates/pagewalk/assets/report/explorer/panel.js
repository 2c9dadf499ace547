// One walk on the page: the picture of its tables, its grid, and what its current step is.
pagewalk.panel = (go) => {
  "use strict";
  const { make, term, fields } = pagewalk;
  const { spaced } = fields;
  // Facts whose names are terms; others are plain words, which may be terms in another sense.
  const TERMS = new Map([["gVA", "gVA"], ["gPA", "gPA"], ["walk cache", "page-walk cache"]]);
  const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

  const summary = make("p", [], { "data-summary": "" });
  const grid = make("table", [], { class: "grid", "data-grid": "" });
  const detail = make("div", [], { class: "detail", "data-detail": "", "aria-live": "polite" });
  const split = make("div", [], { class: "split" });
  const tree = pagewalk.tree(go);
  const all = make("table");
  const scroll = make("div", all, { class: "scroll", tabindex: "0", role: "region" });
  const element = make("div", [
    summary,
    split,
    tree.element,
    make("div", [grid, detail], { class: "stage" }),
    make("details", [make("summary", "All steps of this walk"), scroll], { class: "numbers" }),
  ], { class: "panel" });

  let entry;
  let model;
  let cells = new Map();
  const cellOf = (event) => cells.get(`${event.column}/${event.row}`) ?? cells.get(`${event.column}/all`);
  const levelClass = (key) => (typeof key === "number" ? { class: `level l${key}` } : {});

  // A cell of the grid, for what happens there, if anything does.
  const fill = (cell, column, key, here) => {
    const event = here.find((event) => event.row === key);
    cells.set(`${column.key}/${key}`, cell);
    if (event) {
      cell.textContent = event.mark;
      return;
    }
    const { guest_cached: known } = model.record;
    const cached = typeof column.key === "number" && known !== null && column.key >= known;
    const none = column.key === "page" && key === "entry";
    cell.className = "absent";
    cell.append(make("span", cached || (here.length && !none) ? "·" : "", { "aria-hidden": "true" }), make("span", none ? "" : "not read", { class: "hidden" }));
  };

  const drawGrid = () => {
    const { columns, rows, events, levels } = model;
    cells = new Map();
    const head = make("tr", [make("td"), ...columns.map(({ key, head }) => make("th", head, { scope: "col", ...levelClass(key) }))]);
    const spans = new Set();
    const body = rows.map(({ key, head }) => {
      const line = make("tr", make("th", head, { scope: "row", ...levelClass(levels > 1 ? key : "flat") }));
      for (const column of columns) {
        if (spans.has(column.key) && key !== "entry") continue;
        const here = events.filter((event) => event.column === column.key);
        const whole = here.find((event) => event.row === "all");
        const cell = make("td");
        if (whole && key !== "entry") {
          cell.rowSpan = Math.max(levels, 1);
          spans.add(column.key);
          cells.set(`${column.key}/all`, cell);
          cell.textContent = whole.mark;
        } else fill(cell, column, key, here);
        if (!cell.className && column.key !== "segment") cell.classList.add(key === "entry" ? "guest" : "host");
        line.append(cell);
      }
      return line;
    });
    grid.replaceChildren(make("caption", `Walk of ${entry.workload} under ${entry.system}`), make("thead", head), make("tbody", body));
    events.forEach((event, index) => cellOf(event).addEventListener("click", () => go(index)));
  };

  const describe = () => {
    const { record, events } = model;
    const free = events.filter((event) => event.free).length;
    summary.replaceChildren("A load from ", term("gVA"), ` ${spaced(entry.walk.gva)} reaches `, term("hPA"), ` ${spaced(record.hpa)} with ${count(record.references, "reference")}`
      + (free ? ` and ${count(free, "answer")} without any` : "")
      + (record.guest_cached !== null ? `; the walk cache had the ${entry.guest_table} entry of level ${record.guest_cached}` : "") + ".");
    const caption = `All steps of the walk of ${entry.workload} under ${entry.system}`;
    scroll.setAttribute("aria-label", caption);
    all.replaceChildren(
      make("caption", caption),
      make("thead", make("tr", ["step", "what", "details"].map((text) => make("th", text, { scope: "col" })))),
      make("tbody", events.map((event, index) => make("tr", [make("th", String(index + 1), { scope: "row" }), make("td", event.title),
        make("td", event.facts.map(([name, value]) => `${name} ${value}`).join("; "))]))),
    );
  };

  // Shows another walk.
  const choose = (chosen, memo) => {
    entry = chosen;
    model = pagewalk.walk.build(entry, memo);
    describe();
    drawGrid();
    tree.choose(entry, model);
  };

  // Shows a step; a walk that has fewer stays at its last.
  const show = (step) => {
    const { events, guest } = model;
    const current = Math.max(0, Math.min(step, events.length - 1));
    for (const cell of cells.values()) {
      cell.classList.remove("done", "now");
      cell.removeAttribute("aria-current");
    }
    events.slice(0, current).forEach((event) => cellOf(event).classList.add("done"));
    const event = events[current];
    const cell = cellOf(event);
    cell.classList.add("now");
    cell.setAttribute("aria-current", "step");
    tree.show(model, current);
    const lines = [];
    if (guest) lines.push(fields.draw("gVA", entry.walk.gva, guest, event.guestLevel));
    if (event.layout) lines.push(fields.draw("gPA", event.gpa, event.layout, event.hostLevel));
    const links = event.terms.map((name) => term(name)).filter((link) => typeof link !== "string").flatMap((link, index) => (index ? [" · ", link] : [link]));
    const over = step >= events.length ? " (at its end)" : "";
    detail.replaceChildren(
      make("p", `Step ${current + 1} of ${events.length}${over}`, { class: "kicker" }), make("h3", event.title),
      make("dl", event.facts.flatMap(([name, value]) => [make("dt", TERMS.has(name) ? term(TERMS.get(name), name) : name), make("dd", value)])),
      make("p", ["Terms: ", ...links], { class: "note" }),
    );
    split.replaceChildren(...lines);
  };

  return { element, choose, show, live: (value) => detail.setAttribute("aria-live", value), steps: () => model.events.length };
};
