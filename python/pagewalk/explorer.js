// The walk explorer. Each step of a walk is a row: the references of stage 2, the hypervisor's table, that translate its address, and then the entry
// of stage 1 there, which is the guest's table or the shadow table.

const BITS_OF_FLAGS = ["V", "R", "W", "X", "U", "G", "A", "D"];

function flags(entry) {
  const bits = Number(BigInt(entry) & 0xffn);
  return BITS_OF_FLAGS.map((name, bit) => ((bits >> bit) & 1 ? name : "-")).reverse().join("");
}

function frame(entry) {
  return "0x" + (((BigInt(entry) >> 10n) & 0xfffffffffffn) << 12n).toString(16);
}

// The references in the order in which they are made, each with its row.
function referencesOf(walk) {
  const all = [];
  walk.steps.forEach((step, row) => {
    step.references.forEach((reference) => all.push({ ...reference, row, stage: 2 }));
    if (step.entry) all.push({ ...step.entry, row, stage: 1 });
  });
  return all;
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function render({ model, el }) {
  const root = element("div", { className: "pagewalk-walk", tabIndex: 0 });
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "walk explorer");
  el.append(root);

  const go = (to) => {
    const last = referencesOf(model.get("walk")[model.get("variant")]).length - 1;
    model.set("step", Math.max(0, Math.min(last, to)));
    model.save_changes();
  };

  const draw = () => {
    const whole = model.get("walk");
    const walk = whole[model.get("variant")];
    const references = referencesOf(walk);
    const now = Math.max(0, Math.min(references.length - 1, model.get("step")));
    const table = element("table", {});
    let number = -1;
    walk.steps.forEach((step) => {
      const row = element("tr", {}, element("th", { scope: "row", textContent: step.entry ? `table at ${step.gpa}` : `page at ${step.gpa}` }));
      const cells = [...step.references.map((reference) => [2, reference])];
      if (step.entry) cells.push([1, step.entry]);
      if (step.references.length === 0) row.append(element("td", { className: "answer", textContent: step.answer }));
      cells.forEach(([stage, reference]) => {
        number += 1;
        const mine = number;
        const button = element("button", { type: "button", textContent: `${mine + 1}: level ${reference.level}`, onclick: () => go(mine) });
        button.className = `stage-${stage}${mine < now ? " done" : ""}${mine === now ? " now" : ""}`;
        if (mine === now) button.setAttribute("aria-current", "step");
        row.append(element("td", {}, button));
      });
      table.append(row);
    });
    const shown = references[now];
    const text = shown
      ? `Reference ${now + 1} of ${references.length}: stage ${shown.stage}, level ${shown.level}. The entry at host address ${shown.at} is ` +
        `${shown.entry} (${flags(shown.entry)}), and leads to ${frame(shown.entry)}.`
      : "This walk makes no reference.";
    root.replaceChildren(
      element("p", { className: "addresses", textContent: `gVA ${whole.gva} → gPA ${walk.gpa} → hPA ${walk.hpa}, in a page of ${whole.page}` }),
      table,
      element(
        "p",
        { className: "buttons" },
        element("button", { type: "button", textContent: "◀ back", disabled: now === 0, onclick: () => go(now - 1) }),
        element("button", { type: "button", textContent: "step ▶", disabled: now >= references.length - 1, onclick: () => go(now + 1) }),
      ),
      Object.assign(element("p", { className: "shown", textContent: text }), { ariaLive: "polite" }),
    );
  };

  root.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    go(model.get("step") + by);
  });
  for (const name of ["walk", "variant", "step"]) model.on(`change:${name}`, draw);
  draw();
}

export default { render };
