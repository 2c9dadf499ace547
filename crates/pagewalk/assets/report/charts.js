// Charts are drawn already. This shows the value of a mark that the pointer is on, or that the keyboard has come to: a chart is one stop of
// the Tab key, and arrow keys go from mark to mark.
(() => {
  "use strict";
  const tip = pagewalk.make("div", [], { class: "tip", "aria-hidden": "true" });
  tip.hidden = true;
  document.body.append(tip);

  const box = (mark) => (mark.querySelector("rect") ?? mark).getBoundingClientRect();
  const hide = () => { tip.hidden = true; };
  const show = (mark) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const at = box(mark);
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(4, Math.min(at.left + at.width / 2 - width / 2, document.documentElement.clientWidth - width - 4));
    const above = at.top - height - 8;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above < 4 ? at.bottom + 8 : above) + scrollY}px`;
  };

  // The mark of another curve that is nearest to the same place, above or below.
  const across = (marks, from, up) => {
    const here = box(from);
    const column = marks.filter((mark) => mark !== from && Math.abs(box(mark).left - here.left) < 3 && (up ? box(mark).top < here.top : box(mark).top > here.top));
    const distance = (mark) => Math.abs(box(mark).top - here.top);
    return column.reduce((best, mark) => (best && distance(best) <= distance(mark) ? best : mark), null);
  };

  for (const plot of document.querySelectorAll(".plot")) {
    const marks = [...plot.querySelectorAll(".mark")];
    marks.forEach((mark, index) => {
      // The browser's own tooltip would come on top of this one.
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
      mark.setAttribute("tabindex", index === 0 ? "0" : "-1");
      mark.addEventListener("pointerenter", () => show(mark));
      mark.addEventListener("pointerleave", hide);
      mark.addEventListener("focus", () => show(mark));
      mark.addEventListener("blur", hide);
    });
    const go = (from, to) => {
      if (!to) return;
      from.setAttribute("tabindex", "-1");
      to.setAttribute("tabindex", "0");
      to.focus();
    };
    plot.addEventListener("keydown", (event) => {
      const index = marks.indexOf(event.target);
      if (index < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
      const from = marks[index];
      const curves = ["use", "circle"].includes(from.tagName);
      const to = {
        ArrowRight: () => marks[index + 1],
        ArrowLeft: () => marks[index - 1],
        ArrowDown: () => (curves ? across(marks, from, false) : marks[index + 1]),
        ArrowUp: () => (curves ? across(marks, from, true) : marks[index - 1]),
        Home: () => marks[0],
        End: () => marks[marks.length - 1],
      }[event.key];
      if (!to) return;
      event.preventDefault();
      go(from, to());
    });
  }
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.documentElement.setAttribute("data-drawn", "");
})();
