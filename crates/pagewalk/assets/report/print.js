// On paper everything is open; afterwards it is as it was.
(() => {
  "use strict";
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.glossary)")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => {
    opened.forEach((details) => { details.open = false; });
    opened = [];
  });
})();
