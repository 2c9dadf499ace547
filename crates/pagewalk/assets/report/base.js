// What the other scripts of the page use. Everything that they write is text, never markup.
const pagewalk = (() => {
  "use strict";
  const make = (name, content = [], attributes = {}) => {
    const element = document.createElement(name);
    element.append(...[content].flat());
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // Opens what is folded around the element that the address of the page names.
  const unfold = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // The glossary's terms by their names.
  const terms = new Map();
  for (const term of document.querySelectorAll("[data-names]")) {
    for (const name of term.dataset.names.split("|")) if (!terms.has(name)) terms.set(name, term);
  }
  // A link to a term, or its name as a text if the glossary does not have it.
  const term = (name, text = name) => {
    const found = terms.get(name.toLowerCase());
    return found ? make("a", text, { href: `#${found.id}`, class: "term", title: found.nextElementSibling.textContent }) : text;
  };

  return { make, term, data: JSON.parse(document.getElementById("data").textContent) };
})();
