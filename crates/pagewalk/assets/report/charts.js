// Draws the charts: each element with `data-chart` has its specification in the data, in the same order.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const text = { labelColor: "var(--muted)", titleColor: "var(--muted)", labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400 };
  const config = {
    background: null,
    font,
    view: { stroke: null },
    axis: { ...text, gridColor: "var(--rule)", domainColor: "var(--rule)", tickColor: "var(--rule)" },
    axisY: { labelColor: "var(--ink)" },
    legend: { labelColor: "var(--ink)", titleColor: "var(--muted)", labelFont: font, titleFont: font },
    text: { color: "var(--ink)", font, fontSize: 12 },
    bar: { cornerRadiusEnd: 1 },
  };

  const draw = (element, spec) => {
    const compiled = vegaLite.compile(spec, { config }).spec;
    // The interpreter needs no `eval`, which the page's policy forbids.
    const runtime = vega.parse(compiled, null, { ast: true });
    const view = new vega.View(runtime, {
      expr: vegaInterpreter.expressionInterpreter,
      renderer: "svg",
      container: element,
      hover: false,
      logLevel: vega.Warn,
    });
    return view.runAsync();
  };

  const elements = document.querySelectorAll("[data-chart]");
  Promise.all([...elements].map((element, index) => draw(element, data.charts[index])))
    .then(() => document.documentElement.setAttribute("data-drawn", ""));
})();
