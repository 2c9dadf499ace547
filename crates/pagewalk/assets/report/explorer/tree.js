// The tables of a walk as a picture: each table of the guest's dimension with the walk of the second stage that finds it below, and arrows in the order of
// the walk.
pagewalk.tree = (go) => {
  "use strict";
  const { make } = pagewalk;
  const { hex } = pagewalk.fields;
  const SVG = "http://www.w3.org/2000/svg";
  // Sizes in pixels. Text is not scaled, so that it can be read on a phone: the picture scrolls in its box there.
  const [WIDE, TALL, SLOTS] = [112, 96, 8];
  const [NARROW, SHORT, PITCH] = [36, 56, 46];
  const [LEFT, GAP, TOP, HOSTS] = [46, 30, 54, 208];
  const ANSWERS = { "nested-tlb": "nested TLB", segment: "segment: + offset", constant: "+ a constant" };

  const draw = (name, attributes, content = []) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...[content].flat());
    return element;
  };
  const write = (x, y, text, kind = "") => draw("text", { x, y, class: kind }, text);
  const arrow = (points) => {
    const [[x, y], [before, above]] = [points.at(-1), points.at(-2)];
    const turned = (Math.atan2(y - above, x - before) * 180) / Math.PI;
    return draw("g", { class: "arrow" }, [
      draw("path", { d: `M${points.map((point) => point.join(" ")).join("L")}` }),
      draw("path", { d: "M0 0l-7-3.5v7z", transform: `translate(${x} ${y}) rotate(${turned})`, class: "point" }),
    ]);
  };

  // Where the entry stands in a table: the first at the top, the last at the bottom.
  const slot = ({ index, slots }) => (slots ? Number((index * BigInt(SLOTS)) / BigInt(slots)) : SLOTS / 2);

  // A table at (x, y), with the entry that is read.
  const table = (node, [x, y], [width, height], parts) => {
    const step = height / SLOTS;
    const at = y + slot(node) * step;
    const rules = [...Array(SLOTS - 1).keys()].map((line) => `M${x} ${y + (line + 1) * step}h${width}`).join("");
    const level = node.level === null ? "" : ` l${node.level}`;
    const group = draw("g", { class: `node${level}${node.spared ? " spared" : ""}` }, [
      draw("rect", { x, y, width, height, class: "table" }),
      draw("path", { d: rules, class: "rules" }),
      draw("rect", { x, y: at, width, height: step, class: "entry" }),
      draw("path", { d: `M${x} ${y - 2}h${width}`, class: "head" }),
    ]);
    parts.set(node.key, group);
    return { group, out: [x + width, at + step / 2] };
  };

  // What is no table: a segment, an answer without a reference, the page.
  const box = (key, [x, y, width, height], lines, parts) => {
    const texts = lines.map((line, index) => write(x + width / 2, y + height / 2 + 4 + 15 * (index - (lines.length - 1) / 2), line));
    const group = draw("g", { class: key ? "answer" : "page" }, [draw("rect", { x, y, width, height, rx: 4, class: "table" }), ...texts]);
    if (key) parts.set(key, group);
    return group;
  };

  // An address in lines of four digits, as narrow as a small table.
  const lines = (address) => hex(address).split("_").map((digits, index) => (index ? `_${digits}` : digits));

  // The walk of the second stage below a column; returns where it is entered and left.
  const second = ({ key, hosts, free }, x, width, layer, parts) => {
    const deepest = Math.max(0, ...hosts.map((node) => lines(node.at).length));
    const y = HOSTS + 6 + 12 * deepest;
    let last = null;
    hosts.forEach((node, index) => {
      const left = x + index * PITCH;
      const { group, out } = table(node, [left, y], [NARROW, SHORT], parts);
      const head = node.level === null ? "entry" : `L${node.level}`;
      const address = lines(node.at);
      group.append(write(left + NARROW / 2, HOSTS - 4, head, "level"), ...address.map((line, row) => write(left + NARROW / 2, HOSTS + 9 + 12 * row, line, "small")));
      if (node.index !== null) group.append(write(left + NARROW / 2, y + SHORT + 14, String(node.index)));
      if (last) layer.append(arrow([last, [last[0] + 5, last[1]], [last[0] + 5, y + 3], [left, y + 3]]));
      layer.append(group);
      last = out;
    });
    const below = hosts.length ? y + SHORT + 24 : HOSTS;
    if (free) layer.append(box(`${key}/free`, [x, below, width, 26], [ANSWERS[free]], parts));
    // What answers is what the walk goes through.
    if (free) return { into: [x, below + 13], out: [x + width, below + 13], bottom: below + 30 };
    return hosts.length ? { into: [x, y + 3], out: last, bottom: below - 6 } : null;
  };

  // The table of a column, the segment or the page, with its name above.
  const first = (column, entry, x, layer, parts) => {
    const { guest, segment } = column;
    const middle = x + WIDE / 2;
    const title = guest ? `${entry.guest_table} L${guest.level}` : segment ? "guest segment" : "the page";
    layer.append(write(middle, 16, title, "title"));
    if (segment) {
      layer.append(box("segment/entry", [x, TOP, WIDE, TALL], [hex(BigInt(segment.base)), "to", hex(BigInt(segment.limit)), "+ offset"], parts));
      return [x + WIDE, TOP + TALL / 2];
    }
    if (!guest) {
      const addresses = entry.native ? [hex(BigInt(column.hpa))] : ["gPA", hex(BigInt(column.gpa)), "hPA", hex(BigInt(column.hpa))];
      layer.append(box(null, [x, TOP, WIDE, TALL], addresses, parts));
      return null;
    }
    const { group, out } = table(guest, [x, TOP], [WIDE, TALL], parts);
    const address = guest.gpa === undefined ? [hex(guest.at)] : [`gPA ${hex(guest.gpa)}`, `hPA ${hex(guest.at)}`];
    group.append(...address.map((line, row) => write(middle, 31 + 14 * row + (address.length < 2 ? 14 : 0), line, "small")), write(middle, out[1] + 4, `entry ${guest.index}`, "in-entry"));
    layer.append(group);
    return out;
  };

  const svg = draw("svg", { role: "img", class: "nodes" });
  const scroll = make("div", svg, { class: "scroll", tabindex: "0", role: "region" });
  const caption = make("figcaption", "");
  const element = make("figure", [caption, scroll], { class: "tree" });
  let parts = new Map();
  let name = "";

  // Draws another walk.
  const choose = (entry, model) => {
    const columns = pagewalk.nodes.columns(entry, model.record);
    const rows = Math.max(1, ...columns.map((column) => column.hosts.length));
    const width = Math.max(WIDE, (rows - 1) * PITCH + NARROW);
    const [arrows, tables] = [draw("g", {}), draw("g", {})];
    let from = [LEFT - 14, TOP + 3];
    let bottom = TOP + TALL + 8;
    parts = new Map();
    columns.forEach((column, index) => {
      const x = LEFT + index * (width + GAP);
      const stage = second(column, x, width, tables, parts);
      // The page has no entry, and a table is entered at its first one.
      const target = column.guest ? [x, TOP + 3] : [x, TOP + TALL / 2];
      if (stage) {
        arrows.append(arrow([from, [x - 11, from[1]], [x - 11, stage.into[1]], stage.into]));
        const [right, line] = [Math.max(stage.out[0], x + width) + 6, TOP + TALL + 24];
        arrows.append(arrow([stage.out, [right, stage.out[1]], [right, line], [x + WIDE / 2, line], [x + WIDE / 2, TOP + TALL + 3]]));
        bottom = Math.max(bottom, stage.bottom);
      } else arrows.append(arrow([from, [x - 11, from[1]], [x - 11, target[1]], target]));
      from = first(column, entry, x, tables, parts) ?? from;
    });
    const size = [LEFT + columns.length * (width + GAP) - GAP + 12, bottom + 6];
    for (const [key, value] of [["width", size[0]], ["height", size[1]], ["viewBox", `0 0 ${size.join(" ")}`]]) svg.setAttribute(key, value);
    svg.replaceChildren(write(LEFT - 18, TOP + 7, columns[0].segment ? "gVA" : "root", "root"), arrows, tables);
    model.events.forEach((event, index) => parts.get(event.key)?.addEventListener("click", () => go(index)));
    const spared = columns.flatMap((column) => [column.guest, ...column.hosts]).filter((node) => node?.spared).length;
    name = `Tables of the walk of ${entry.workload} under ${entry.system}`;
    caption.textContent = spared ? `${name}. Caches spare the dashed ones.` : `${name}.`;
    scroll.setAttribute("aria-label", name);
  };

  // Marks the entry of a step, and what was read before.
  const show = ({ events }, current) => {
    for (const part of parts.values()) part.classList.remove("done", "now");
    events.slice(0, current).forEach((event) => parts.get(event.key)?.classList.add("done"));
    const now = parts.get(events[current].key);
    svg.setAttribute("aria-label", `${name}. Step ${current + 1} of ${events.length}: ${events[current].title}. All steps are in the table below.`);
    if (!now) return;
    now.classList.add("now");
    // Only the box scrolls: the page stays where it is.
    const [part, shown] = [now.getBoundingClientRect(), scroll.getBoundingClientRect()];
    if (part.left < shown.left || part.right > shown.right) scroll.scrollLeft += part.left - shown.left - (shown.width - part.width) / 2;
  };

  return { element, choose, show };
};
