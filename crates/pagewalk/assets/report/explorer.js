// The walk explorer: one recorded walk, step by step. Everything it writes is text, never markup.
(() => {
  "use strict";
  const root = document.querySelector("[data-explorer]");
  if (!root) return;
  const walks = JSON.parse(document.getElementById("data").textContent).walks;
  const part = (name) => root.querySelector(`[data-${name}]`);
  const [workload, scheme, grid, detail, all, summary] = ["workload", "scheme", "grid", "detail", "all", "summary"].map(part);

  const make = (name, content = [], attributes = {}) => {
    const element = document.createElement(name);
    element.append(...[content].flat());
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const hex = (number) => "0x" + number.toString(16).replace(/\B(?=(?:[0-9a-f]{4})+$)/g, "_");
  const spaced = (text) => hex(BigInt(text));
  const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

  // What a PTE says (RISC-V Privileged 1.13, section 12.3): V, R, W, X, U, G, A, D, and the page number from bit 10.
  const decode = (entry, level) => {
    const pte = BigInt(entry);
    const page = ((pte >> 10n) & ((1n << 44n) - 1n)) << 12n;
    if (!(pte & 1n)) return "not valid";
    const flags = [..."VRWXUGAD"].filter((_, bit) => (pte >> BigInt(bit)) & 1n).join("");
    if (!(pte & 0b1110n)) return `points to the table at ${hex(page)} (${flags})`;
    const sizes = ["4K", "2M", "1G", "512G", "256T"];
    const group = pte >> 63n ? ", one of a group" : "";
    return `maps the page at ${hex(page)}, ${sizes[level] ?? ""}${group} (${flags})`;
  };

  // The walk as columns (the guest's dimension), rows (the host's) and events in their order.
  const build = ({ walk, guest_table, host_table, native }, memo) => {
    const record = walk[memo];
    const columns = [];
    if (record.guest_segment) columns.push({ key: "segment", head: "guest segment" });
    else for (let level = walk.guest_levels - 1; level >= 0; level--) columns.push({ key: level, head: `${guest_table} L${level}` });
    columns.push({ key: "page", head: "the page" });
    const tables = record.steps.some((step) => step.references.length);
    const added = !native && (record.steps.some((step) => step.answer !== "tables") || !record.steps.length);
    const levels = tables ? walk.host_levels : 0;
    const rows = [];
    for (let level = levels - 1; level >= 0; level--) rows.push({ key: level, head: levels === 1 ? host_table : `${host_table} L${level}` });
    if (!levels && added) rows.push({ key: "added", head: "to the host" });
    if (walk.guest_levels || record.guest_segment) rows.push({ key: "entry", head: record.guest_segment ? "to gPA" : `${guest_table} entry` });

    const events = [];
    const sum = (segment, from) => `${spaced(from)} + ${spaced(segment.offset)}`;
    const bounds = (segment) => `${spaced(segment.base)} to ${spaced(segment.limit)}`;
    if (record.guest_segment) {
      events.push({
        column: "segment", row: "entry", mark: "+", title: "The guest's segment answers", free: true,
        facts: [["gVA", spaced(walk.gva)], ["segment", bounds(record.guest_segment)], ["gPA", `${sum(record.guest_segment, walk.gva)} = ${spaced(record.gpa)}`], ["answered by", "segment registers, no reference"]],
      });
    }
    const steps = record.steps.length ? record.steps : [{ gpa: record.gpa, hpa: record.hpa, answer: native ? "constant" : "segment", references: [], entry: null }];
    let read = 0;
    for (const step of steps) {
      const column = step.entry ? step.entry.level : "page";
      const whose = step.entry ? `the ${guest_table} entry of level ${step.entry.level}` : "the page";
      const facts = [["for", `${whose}, at gPA ${spaced(step.gpa)}`]];
      if (step.answer === "tables") {
        if (step.cached !== null) facts.push(["walk cache", `had the entry of level ${step.cached}: the walk begins below it`]);
        step.references.forEach((reference, index) => {
          read += 1;
          const shift = BigInt(12 + 9 * reference.level);
          const last = index === step.references.length - 1;
          events.push({
            column, row: reference.level, mark: String(read), title: `Reference ${read}: ${host_table}${levels === 1 ? "" : `, level ${reference.level}`}`,
            facts: [...facts, ["read at", `hPA ${spaced(reference.at)}`], ...(levels === 1 ? [] : [["index", `${(BigInt(step.gpa) >> shift) & 511n}${reference.level === levels - 1 ? " (low nine bits)" : ""}: gPA bits from ${shift} up`]]),
              ["entry", spaced(reference.entry)], ["it", decode(reference.entry, reference.level)], ["answered by", "memory"], ...(last ? [["leads to", `hPA ${spaced(step.hpa)}`]] : [])],
          });
        });
      } else if (!native) {
        const [mark, title, by] = {
          "nested-tlb": ["TLB", "The nested TLB answers", "the nested TLB, no reference"],
          segment: ["+", "The hypervisor's segment answers", "segment registers, no reference"],
          constant: ["+", "A constant is added", "base and bounds of reserved memory, no reference"],
        }[step.answer];
        const more = step.answer === "segment" && record.monitor_segment ? [["segment", bounds(record.monitor_segment)]] : [];
        events.push({ column, row: "all", mark, title, free: true, facts: [...facts, ...more, ["leads to", `hPA ${spaced(step.hpa)}`], ["answered by", by]] });
      }
      if (step.entry) {
        read += 1;
        const { level, at, entry } = step.entry;
        const shift = BigInt(12 + 9 * level);
        events.push({
          column, row: "entry", mark: String(read), title: `Reference ${read}: ${guest_table}, level ${level}`,
          facts: [["for", `gVA ${spaced(walk.gva)}`], ["index", `${(BigInt(walk.gva) >> shift) & 511n}: gVA bits ${shift + 8n} to ${shift}`], ["read at", native ? `${spaced(at)}` : `gPA ${spaced(step.gpa)}, which is hPA ${spaced(at)}`],
            ["entry", spaced(entry)], ["it", decode(entry, level)], ["answered by", "memory"]],
        });
      }
    }
    return { record, columns, rows, events, levels };
  };

  let model;
  let current = 0;
  let cells = new Map();
  const cellOf = (event) => cells.get(`${event.column}/${event.row}`) ?? cells.get(`${event.column}/all`);

  const drawGrid = (entry) => {
    const { record, columns, rows, events, levels } = model;
    cells = new Map();
    const head = make("tr", [make("td"), ...columns.map(({ head }) => make("th", head, { scope: "col" }))]);
    const spans = new Set();
    const body = rows.map(({ key, head }) => {
      const line = make("tr", make("th", head, { scope: "row" }));
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
        } else {
          const event = here.find((event) => event.row === key);
          cells.set(`${column.key}/${key}`, cell);
          if (event) cell.textContent = event.mark;
          else {
            const cached = typeof column.key === "number" && record.guest_cached !== null && column.key >= record.guest_cached;
            const none = column.key === "page" && key === "entry";
            cell.className = "absent";
            cell.append(make("span", cached || (here.length && !none) ? "·" : "", { "aria-hidden": "true" }), make("span", none ? "" : "not read", { class: "hidden" }));
          }
        }
        if (!cell.className && column.key !== "segment") cell.classList.add(key === "entry" ? "guest" : "host");
        line.append(cell);
      }
      return line;
    });
    grid.replaceChildren(make("caption", `Walk of ${entry.workload} under ${entry.system}`), make("thead", head), make("tbody", body));
    events.forEach((event, index) => {
      const cell = cellOf(event);
      cell.addEventListener("click", () => show(index));
    });
  };

  const list = (facts) => make("dl", facts.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));

  const show = (index) => {
    const { events } = model;
    current = Math.max(0, Math.min(index, events.length - 1));
    for (const cell of cells.values()) {
      cell.classList.remove("done", "now");
      cell.removeAttribute("aria-current");
    }
    events.forEach((event, at) => {
      if (at < current) cellOf(event).classList.add("done");
    });
    const event = events[current];
    const cell = cellOf(event);
    cell.classList.add("now");
    cell.setAttribute("aria-current", "step");
    detail.replaceChildren(make("p", `Step ${current + 1} of ${events.length}`, { class: "kicker" }), make("h3", event.title), list(event.facts));
    root.dataset.step = String(current + 1);
    for (const button of root.querySelectorAll("[data-go]")) {
      const at = ["first", "back"].includes(button.dataset.go) ? 0 : events.length - 1;
      button.setAttribute("aria-disabled", String(current === at));
    }
  };

  const choose = () => {
    const entry = walks.find((walk) => walk.workload === workload.value && walk.system === scheme.value) ?? walks[0];
    const memo = root.querySelector("[name=memo]:checked").value;
    model = build(entry, memo);
    const { record, events } = model;
    const free = events.filter((event) => event.free).length;
    summary.textContent = `A load from gVA ${spaced(entry.walk.gva)} reaches hPA ${spaced(record.hpa)} with ${count(record.references, "reference")}`
      + (free ? ` and ${count(free, "answer")} without any` : "")
      + (record.guest_cached !== null ? `; the walk cache had the ${entry.guest_table} entry of level ${record.guest_cached}` : "") + ".";
    drawGrid(entry);
    all.replaceChildren(
      make("caption", `All steps of the walk of ${entry.workload} under ${entry.system}`),
      make("thead", make("tr", ["step", "what", "details"].map((text) => make("th", text, { scope: "col" })))),
      make("tbody", events.map((event, index) => make("tr", [make("th", String(index + 1), { scope: "row" }), make("td", event.title),
        make("td", event.facts.map(([name, value]) => `${name} ${value}`).join("; "))]))),
    );
    show(0);
  };

  const fill = (select, values) => {
    const before = select.value;
    select.replaceChildren(...[...new Set(values)].map((value) => make("option", value, { value })));
    if (values.includes(before)) select.value = before;
  };
  const schemes = () => fill(scheme, walks.filter((walk) => walk.workload === workload.value).map((walk) => walk.system));
  fill(workload, walks.map((walk) => walk.workload));
  schemes();
  // Begin with the longest walk: it shows both dimensions.
  const longest = walks.reduce((one, other) => (other.walk.whole.references > one.walk.whole.references ? other : one));
  workload.value = longest.workload;
  schemes();
  scheme.value = longest.system;

  workload.addEventListener("change", () => { schemes(); choose(); });
  scheme.addEventListener("change", choose);
  root.querySelectorAll("[name=memo]").forEach((radio) => radio.addEventListener("change", choose));
  const go = { first: () => show(0), back: () => show(current - 1), next: () => show(current + 1), last: () => show(model.events.length - 1) };
  root.querySelectorAll("[data-go]").forEach((button) => button.addEventListener("click", () => go[button.dataset.go]()));
  const keys = { ArrowLeft: "back", ArrowUp: "back", ArrowRight: "next", ArrowDown: "next", Home: "first", End: "last" };
  part("stage").addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    go[action]();
  });
  root.hidden = false;
  choose();
  // On paper the walk is shown whole.
  addEventListener("beforeprint", () => show(model.events.length - 1));
})();
