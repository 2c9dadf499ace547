// A recorded walk as a grid (columns are levels of the guest's dimension, rows those of the host's) and as events in their order.
pagewalk.walk = (() => {
  "use strict";
  const { hex, spaced } = pagewalk.fields;

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

  const bounds = (segment) => `${spaced(segment.base)} to ${spaced(segment.limit)}`;
  const sum = (segment, from) => `${spaced(from)} + ${spaced(segment.offset)}`;

  // The level of the entry that maps the page, of those that were read on the way to it.
  const leaf = (entries) => (entries.length ? entries[entries.length - 1].level : 0);

  // How the tables of each dimension split an address. A flat table has one index, and segments none.
  const layouts = ({ walk, native }, levels) => {
    const entries = walk.whole.steps.map((step) => step.entry).filter(Boolean);
    return {
      guest: walk.guest_levels ? { levels: walk.guest_levels, leaf: leaf(entries), wide: false } : null,
      host: (step) => (native || levels < 2 ? null : { levels, leaf: leaf(step.references), wide: true }),
    };
  };

  const columnsOf = ({ walk, guest_table }, record) => {
    const columns = [];
    if (record.guest_segment) columns.push({ key: "segment", head: "guest segment" });
    else for (let level = walk.guest_levels - 1; level >= 0; level--) columns.push({ key: level, head: `${guest_table} L${level}` });
    columns.push({ key: "page", head: "the page" });
    return columns;
  };

  const rowsOf = ({ walk, guest_table, host_table, native }, record, levels) => {
    const rows = [];
    for (let level = levels - 1; level >= 0; level--) rows.push({ key: level, head: levels === 1 ? host_table : `${host_table} L${level}` });
    const added = !native && (record.steps.some((step) => step.answer !== "tables") || !record.steps.length);
    if (!levels && added) rows.push({ key: "added", head: "to the host" });
    if (walk.guest_levels || record.guest_segment) rows.push({ key: "entry", head: record.guest_segment ? "to gPA" : `${guest_table} entry` });
    return rows;
  };

  // What answers without a reference.
  const FREE = {
    "nested-tlb": ["TLB", "The nested TLB answers", "the nested TLB, no reference", "nested TLB"],
    segment: ["+", "The hypervisor's segment answers", "segment registers, no reference", "direct segment"],
    constant: ["+", "A constant is added", "base and bounds of reserved memory, no reference", "hPA"],
  };

  const guestSegment = ({ walk }, record) => ({
    column: "segment", row: "entry", key: "segment/entry", mark: "+", title: "The guest's segment answers", free: true, terms: ["direct segment", "gVA", "gPA"],
    facts: [["gVA", spaced(walk.gva)], ["segment", bounds(record.guest_segment)], ["gPA", `${sum(record.guest_segment, walk.gva)} = ${spaced(record.gpa)}`],
      ["answered by", "segment registers, no reference"]],
  });

  // The reference to an entry of the host's tables.
  const hostReference = (entry, levels, step, index, read) => {
    const reference = step.references[index];
    const shift = BigInt(12 + 9 * reference.level);
    const last = index === step.references.length - 1;
    const facts = [["read at", `hPA ${spaced(reference.at)}`]];
    if (levels > 1) facts.push(["index", `${(BigInt(step.gpa) >> shift) & (reference.level === levels - 1 ? 2047n : 511n)}: gPA bits from ${shift} up`]);
    facts.push(["entry", spaced(reference.entry)], ["it", decode(reference.entry, reference.level)], ["answered by", "memory"]);
    if (last) facts.push(["leads to", `hPA ${spaced(step.hpa)}`]);
    return {
      row: reference.level, mark: String(read), title: `Reference ${read}: ${entry.host_table}${levels === 1 ? "" : `, level ${reference.level}`}`,
      facts, terms: ["reference", entry.host_table === "flat table" ? "flat table" : "nested table", "gPA", "hPA", "page table entry"], hostLevel: reference.level,
    };
  };

  // The reference to an entry of the guest's tables, which the step has translated the address of.
  const guestReference = ({ walk, guest_table, native }, step, read) => {
    const { level, at, entry } = step.entry;
    const shift = BigInt(12 + 9 * level);
    return {
      row: "entry", mark: String(read), title: `Reference ${read}: ${guest_table}, level ${level}`, guestLevel: level,
      terms: ["reference", guest_table === "shadow table" ? guest_table : "page table", "gVA", ...(native ? [] : ["gPA", "hPA"]), "page table entry"],
      facts: [["for", `gVA ${spaced(walk.gva)}`], ["index", `${(BigInt(walk.gva) >> shift) & 511n}: gVA bits ${shift + 8n} to ${shift}`],
        ["read at", native ? `${spaced(at)}` : `gPA ${spaced(step.gpa)}, which is hPA ${spaced(at)}`],
        ["entry", spaced(entry)], ["it", decode(entry, level)], ["answered by", "memory"]],
    };
  };

  // The grid and the events of a walk; `memo` says with which caches. The key of an event is that of the table in the picture whose entry is read.
  const build = (entry, memo) => {
    const { walk, guest_table, native } = entry;
    const record = walk[memo];
    const levels = record.steps.some((step) => step.references.length) ? walk.host_levels : 0;
    const layout = layouts(entry, levels);
    const events = record.guest_segment ? [guestSegment(entry, record)] : [];
    const steps = record.steps.length ? record.steps : [{ gpa: record.gpa, hpa: record.hpa, answer: native ? "constant" : "segment", references: [], entry: null }];
    let read = 0;
    for (const step of steps) {
      const column = step.entry ? step.entry.level : "page";
      const whose = step.entry ? `the ${guest_table} entry of level ${step.entry.level}` : "the page";
      const facts = [["for", `${whose}, at gPA ${spaced(step.gpa)}`]];
      const add = (event) => events.push({ column, gpa: native ? null : step.gpa, layout: layout.host(step), ...event });
      if (step.answer === "tables") {
        if (step.cached !== null) facts.push(["walk cache", `had the entry of level ${step.cached}: the walk begins below it`]);
        step.references.forEach((_, index) => {
          read += 1;
          const event = hostReference(entry, levels, step, index, read);
          add({ ...event, key: `${column}/${index}`, facts: [...facts, ...event.facts] });
        });
      } else if (!native) {
        const [mark, title, by, term] = FREE[step.answer];
        const more = step.answer === "segment" && record.monitor_segment ? [["segment", bounds(record.monitor_segment)]] : [];
        add({ row: "all", key: `${column}/free`, mark, title, free: true, terms: [term, "gPA", "hPA"], facts: [...facts, ...more, ["leads to", `hPA ${spaced(step.hpa)}`], ["answered by", by]] });
      }
      if (step.entry) {
        read += 1;
        add({ ...guestReference(entry, step, read), key: `${column}/entry` });
      }
    }
    return { record, columns: columnsOf(entry, record), rows: rowsOf(entry, record, levels), events, levels, guest: layout.guest };
  };

  return { build };
})();
