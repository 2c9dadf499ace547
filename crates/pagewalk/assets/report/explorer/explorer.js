// The walk explorer: which walk, beside which other, at which step. The address of the page has all of it, so that a link leads to a step.
(() => {
  "use strict";
  const root = document.querySelector("[data-explorer]");
  if (!root) return;
  const { make } = pagewalk;
  const walks = pagewalk.data.walks;
  const part = (name) => root.querySelector(`[data-${name}]`);
  const [workload, scheme, kind, beside, stage, play, link] = ["workload", "scheme", "kind", "beside", "stage", "play", "link"].map(part);
  const buttons = [...root.querySelectorAll("[data-go]")];
  const radios = [...root.querySelectorAll("[name=memo]")];
  const memo = () => radios.find((radio) => radio.checked).value;

  let current = 0;
  let timer = null;
  const panels = [pagewalk.panel((index) => show(index)), pagewalk.panel((index) => show(index))];
  part("panels").append(...panels.map((panel) => panel.element));
  const [, second] = panels;
  const steps = () => Math.max(panels[0].steps(), second.element.hidden ? 0 : second.steps());

  // The part of the page's address behind "#".
  const fragment = () => {
    const state = new URLSearchParams({ workload: workload.value, scheme: scheme.value, caches: memo(), step: String(current + 1) });
    if (!kind.closest("label").hidden) state.set("walk", kind.value);
    if (beside.value) state.set("beside", beside.value);
    return `#explore:${state}`;
  };

  const show = (step) => {
    current = Math.max(0, Math.min(step, steps() - 1));
    panels[0].show(current);
    if (!second.element.hidden) second.show(current);
    root.dataset.step = String(current + 1);
    for (const button of buttons) {
      const end = ["first", "back"].includes(button.dataset.go) ? 0 : steps() - 1;
      button.setAttribute("aria-disabled", String(current === end));
    }
    link.setAttribute("href", fragment());
  };

  // Choices.
  const of = (system) => walks.filter((walk) => walk.workload === workload.value && walk.system === system);
  const fill = (select, values, texts = values) => {
    const before = select.value;
    select.replaceChildren(...values.map((value, index) => make("option", texts[index] || "nothing", { value })));
    if (values.includes(before)) select.value = before;
  };
  const once = (values) => [...new Set(values)];
  const fillSchemes = () => {
    const systems = once(walks.filter((walk) => walk.workload === workload.value).map((walk) => walk.system));
    fill(scheme, systems);
    fill(beside, ["", ...systems]);
  };
  const fillKinds = () => {
    const chosen = of(scheme.value);
    fill(kind, chosen.map((walk) => walk.kind), chosen.map((walk) => walk.label));
    kind.closest("label").hidden = chosen.length < 2;
  };
  const choose = () => {
    const chosen = of(scheme.value);
    panels[0].choose(chosen.find((walk) => walk.kind === kind.value) ?? chosen[0], memo());
    const other = beside.value ? of(beside.value) : [];
    second.element.hidden = !other.length;
    if (other.length) second.choose(other.find((walk) => walk.kind === kind.value) ?? other[0], memo());
    root.classList.toggle("two", other.length > 0);
    show(0);
  };

  // Steps.
  const go = { first: () => show(0), back: () => show(current - 1), next: () => show(current + 1), last: () => show(steps() - 1) };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    panels.forEach((panel) => panel.live("polite"));
  };
  const start = () => {
    if (current === steps() - 1) show(0);
    play.textContent = "Pause";
    // Each step would be spoken over the one before.
    panels.forEach((panel) => panel.live("off"));
    timer = setInterval(() => {
      show(current + 1);
      if (current === steps() - 1) stop();
    }, 900);
  };
  const toggle = () => (timer === null ? start() : stop());

  // Goes to where the address of the page leads.
  const follow = () => {
    if (!location.hash.startsWith("#explore:")) return;
    const state = new URLSearchParams(location.hash.slice("#explore:".length));
    const set = (select, value) => { if ([...select.options].some((option) => option.value === value)) select.value = value; };
    stop();
    set(workload, state.get("workload"));
    fillSchemes();
    set(scheme, state.get("scheme"));
    fillKinds();
    set(kind, state.get("walk"));
    set(beside, state.get("beside") ?? "");
    for (const radio of radios) radio.checked = radio.value === (state.get("caches") ?? "whole");
    choose();
    show((Number.parseInt(state.get("step"), 10) || 1) - 1);
    root.scrollIntoView();
  };

  fill(workload, once(walks.map((walk) => walk.workload)));
  // Begin with the longest walk: it shows both dimensions.
  const longest = walks.reduce((one, other) => (other.walk.whole.references > one.walk.whole.references ? other : one));
  workload.value = longest.workload;
  fillSchemes();
  scheme.value = longest.system;
  fillKinds();

  const chosen = (refill) => () => {
    stop();
    refill();
    choose();
  };
  workload.addEventListener("change", chosen(() => { fillSchemes(); fillKinds(); }));
  scheme.addEventListener("change", chosen(fillKinds));
  for (const select of [kind, beside, ...radios]) select.addEventListener("change", chosen(() => {}));
  buttons.forEach((button) => button.addEventListener("click", () => { stop(); go[button.dataset.go](); }));
  play.addEventListener("click", toggle);
  const keys = { ArrowLeft: "back", ArrowUp: "back", ArrowRight: "next", ArrowDown: "next", Home: "first", End: "last" };
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== stage) return;
    const action = event.key === " " ? toggle : go[keys[event.key]];
    if (!action) return;
    event.preventDefault();
    if (event.key !== " ") stop();
    action();
  });
  addEventListener("hashchange", follow);
  // On paper the walk is shown whole.
  addEventListener("beforeprint", () => { stop(); show(steps() - 1); });
  root.hidden = false;
  choose();
  follow();
})();
