// A flame graph: a frame that is chosen becomes as wide as the plot, with those below it. Arrow keys go to the frame above, to the widest one
// below, and to those beside it; Enter chooses, and Escape shows the whole graph again.
(() => {
  "use strict";
  const ROUNDING = 0.011;
  // About the width of a letter in the graph, in pixels.
  const LETTER = 6.7;

  const explore = (graph) => {
    const plot = graph.closest(".plot");
    const frames = [...graph.querySelectorAll(".mark")].map((element) => {
      const number = (name) => Number.parseFloat(element.getAttribute(name));
      let text = element.querySelector("text");
      if (!text) {
        text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        text.setAttribute("aria-hidden", "true");
        text.setAttribute("x", "4");
        text.setAttribute("y", "14");
        element.append(text);
      }
      return { element, text, name: element.dataset.name, x: number("x"), y: number("y"), width: number("width") };
    });
    const of = new Map(frames.map((frame) => [frame.element, frame]));
    const holds = (one, other) => one.x <= other.x + ROUNDING && one.x + one.width >= other.x + other.width - ROUNDING;
    let chosen = frames[0];

    // As much of each name as its frame has room for.
    const write = () => {
      const whole = plot.getBoundingClientRect().width;
      if (!whole) return;
      for (const { element, text, name } of frames) {
        const room = Math.floor(((Number.parseFloat(element.getAttribute("width")) / 100) * whole - 8) / LETTER);
        text.textContent = name.length <= room ? name : room < 3 ? "" : `${name.slice(0, room - 1)}…`;
      }
    };

    const choose = (frame) => {
      chosen = frame;
      for (const other of frames) {
        const above = other.y < frame.y && holds(other, frame);
        const inside = other.y >= frame.y && holds(frame, other);
        const [x, width] = above ? [0, 100] : [(100 * (other.x - frame.x)) / frame.width, (100 * other.width) / frame.width];
        other.shown = above || inside;
        other.element.style.display = other.shown ? "" : "none";
        other.element.classList.toggle("above", above);
        other.element.setAttribute("x", `${x}%`);
        other.element.setAttribute("width", `${width}%`);
      }
      whole.hidden = frame === frames[0];
      write();
    };

    const go = (from, to) => {
      if (!to) return;
      from.element.setAttribute("tabindex", "-1");
      to.element.setAttribute("tabindex", "0");
      to.element.focus();
    };
    const near = (from, row) => frames.filter((frame) => frame.shown && Math.abs(frame.y - from.y - row) < 1);
    const beside = (from, step) => {
      const row = near(from, 0).sort((one, other) => one.x - other.x);
      return row[row.indexOf(from) + step];
    };
    const rows = frames.map((frame) => frame.y).filter((y) => y > 0);
    const high = rows.length ? Math.min(...rows) : 0;
    const widest = (frame) => near(frame, high).filter((below) => holds(frame, below)).sort((one, other) => other.width - one.width)[0];
    const keys = {
      ArrowUp: (from) => go(from, near(from, -high).find((above) => holds(above, from))),
      ArrowDown: (from) => go(from, widest(from)),
      ArrowLeft: (from) => go(from, beside(from, -1)),
      ArrowRight: (from) => go(from, beside(from, 1)),
      Home: (from) => go(from, chosen),
      Enter: choose,
      " ": choose,
      Escape: (from) => { choose(frames[0]); go(from, from); },
    };
    graph.addEventListener("keydown", (event) => {
      const from = of.get(event.target);
      if (!from || !keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      // The keys of other charts are not those of this one.
      event.stopPropagation();
      keys[event.key](from);
    });
    for (const frame of frames) frame.element.addEventListener("click", () => choose(frame));

    const whole = pagewalk.make("button", "Whole graph", { type: "button" });
    whole.addEventListener("click", () => {
      choose(frames[0]);
      frames[0].element.focus();
    });
    plot.parentElement.before(pagewalk.make("div", whole, { class: "tools" }));
    choose(chosen);
    new ResizeObserver(write).observe(plot.parentElement);
  };

  for (const graph of document.querySelectorAll(".flame")) if (graph.querySelector(".mark")) explore(graph);
})();
