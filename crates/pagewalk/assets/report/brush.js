// Charts over time: a stretch of time that is marked with the pointer fills the chart, and so it does by the buttons above it and by keys.
// On a map, the count of the cell below the pointer is shown with its row.
(() => {
  "use strict";
  const STRETCHED = 10000;
  const SVG = "http://www.w3.org/2000/svg";
  const { make } = pagewalk;

  // About so many round numbers between two values.
  const ticks = (from, to, count) => {
    const rough = (to - from) / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5].find((times) => rough <= times * power * 1.000001) ?? 10);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let at = Math.ceil(from / step - 1e-9); at <= to / step + 1e-9; at++) found.push([at * step, (at * step).toFixed(digits)]);
    return found;
  };

  const explore = (shown) => {
    const plot = shown.closest(".plot");
    const times = plot.querySelector(".times");
    const first = times.querySelector("text");
    const [begin, end, column] = ["from", "to", "column"].map((name) => Number(shown.dataset[name]));
    const height = Number(shown.getAttribute("height"));
    const label = make("output", [], { class: "note" });
    let [from, to] = [begin, end];

    const draw = () => {
      const scale = STRETCHED / (end - begin);
      shown.setAttribute("viewBox", `${(from - begin) * scale} 0 ${(to - from) * scale} ${height}`);
      const room = plot.getBoundingClientRect().width;
      if (room) {
        const labels = ticks(from, to, Math.max(2, Math.min(8, Math.floor(room / 110))));
        times.replaceChildren(...labels.map(([at, text]) => {
          const tick = document.createElementNS(SVG, "text");
          tick.setAttribute("class", "tick");
          tick.setAttribute("x", `${(100 * (at - from)) / (to - from)}%`);
          tick.setAttribute("y", first.getAttribute("y"));
          tick.textContent = text;
          return tick;
        }));
      }
      label.textContent = `${from.toPrecision(6)} to ${to.toPrecision(6)} ms`;
    };

    const show = (one, other) => {
      const length = Math.min(end - begin, Math.max((end - begin) / 2000, other - one));
      from = Math.max(begin, Math.min(one, end - length));
      to = Math.min(end, from + length);
      draw();
    };
    const zoom = (factor) => {
      const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
      show(middle - half, middle + half);
    };
    const move = (part) => show(from + part * (to - from), to + part * (to - from));
    const all = () => show(begin, end);

    const actions = [["Zoom in", () => zoom(0.5)], ["Zoom out", () => zoom(2)], ["Earlier", () => move(-0.5)], ["Later", () => move(0.5)], ["All", all]];
    const buttons = actions.map(([name, action]) => {
      const button = make("button", name, { type: "button" });
      button.addEventListener("click", action);
      return button;
    });
    plot.parentElement.before(make("div", [...buttons, label], { class: "tools", role: "group", "aria-label": "Time that is shown" }));

    // What is marked so far.
    const marked = document.createElementNS(SVG, "rect");
    marked.setAttribute("class", "brush");
    marked.setAttribute("height", height);
    marked.setAttribute("aria-hidden", "true");
    const part = (event) => {
      const box = shown.getBoundingClientRect();
      return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    };
    let start = null;
    shown.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = part(event);
      event.preventDefault();
    });
    addEventListener("pointermove", (event) => {
      if (start === null) return;
      const [one, other] = [start, part(event)].sort((a, b) => a - b);
      marked.setAttribute("x", `${100 * one}%`);
      marked.setAttribute("width", `${100 * (other - one)}%`);
      if (!marked.isConnected) shown.after(marked);
    });
    addEventListener("pointerup", (event) => {
      if (start === null) return;
      const [one, other] = [start, part(event)].sort((a, b) => a - b);
      start = null;
      marked.remove();
      if ((other - one) * shown.getBoundingClientRect().width > 4) show(from + one * (to - from), from + other * (to - from));
    });
    addEventListener("pointercancel", () => { start = null; marked.remove(); });
    plot.addEventListener("keydown", (event) => {
      const action = { "+": () => zoom(0.5), "-": () => zoom(2), Escape: all }[event.key];
      if (action && !event.ctrlKey && !event.altKey && !event.metaKey) action();
    });
    // The keyboard may come to a step that is not shown.
    plot.addEventListener("focusin", ({ target }) => {
      if (!target.classList.contains("step") || column) return;
      const scale = (end - begin) / STRETCHED;
      const at = begin + (Number(target.getAttribute("x")) + Number(target.getAttribute("width")) / 2) * scale;
      if (at < from || at > to) show(at - (to - from) / 2, at + (to - from) / 2);
    });

    // The cell of a map below the pointer.
    for (const row of column ? shown.querySelectorAll("[data-cells]") : []) {
      const sum = row.getAttribute("aria-label");
      const cells = new Map(row.dataset.cells.split(",").map((cell) => cell.split(" ").map(Number)));
      row.addEventListener("pointermove", (event) => {
        const number = Math.floor((from + part(event) * (to - from) - begin) / column);
        const at = begin + number * column;
        row.setAttribute("aria-label", `${sum}; ${cells.get(number) ?? 0} of them from ${at.toPrecision(6)} ms on`);
        row.dispatchEvent(new PointerEvent("pointerenter"));
      });
      row.addEventListener("pointerleave", () => row.setAttribute("aria-label", sum));
    }
    draw();
    new ResizeObserver(draw).observe(plot.parentElement);
  };

  for (const shown of document.querySelectorAll(".window")) explore(shown);
})();
