// Addresses as the fields that a walk reads them by: an index for each level, and the offset in the page.
pagewalk.fields = (() => {
  "use strict";
  const { make } = pagewalk;
  const hex = (number) => "0x" + number.toString(16).replace(/\B(?=(?:[0-9a-f]{4})+$)/g, "_");
  const spaced = (text) => hex(BigInt(text));

  // The fields of an address whose tables have `levels` levels and whose page is mapped at level `leaf`. The root of a second stage is four
  // times as large: its index has two bits more.
  const split = (address, { levels, leaf, wide }) => {
    const value = BigInt(address);
    const fields = [];
    for (let level = levels - 1; level >= leaf; level--) {
      const [low, bits] = [12 + 9 * level, level === levels - 1 && wide ? 11 : 9];
      fields.push({ level, low, bits, value: (value >> BigInt(low)) & ((1n << BigInt(bits)) - 1n) });
    }
    const offset = 12 + 9 * leaf;
    fields.push({ level: "offset", low: 0, bits: offset, value: value & ((1n << BigInt(offset)) - 1n) });
    return fields;
  };

  const item = (field, now) => {
    const { level, low, bits, value } = field;
    const offset = level === "offset";
    const digits = value.toString(2).padStart(bits, "0").replace(/\B(?=(?:[01]{3})+$)/g, " ");
    return make("li", [
      make("span", offset ? "offset" : `L${level}`, { class: "of" }),
      make("code", offset ? spaced(value) : digits),
      make("span", offset ? `bits ${bits - 1} to 0` : `entry ${value}, bits ${low + bits - 1} to ${low}`, { class: "of" }),
    ], { class: `field ${offset ? "offset" : `l${level}`}${now === level ? " now" : ""}` });
  };

  // A line of fields, with the one of level `now` marked.
  const draw = (name, address, layout, now) => make("div", [
    make("p", [pagewalk.term(name), ` ${spaced(address)}`]),
    make("ul", split(address, layout).map((field) => item(field, now)), { "aria-label": `Fields of the ${name}` }),
  ], { class: "fields" });

  return { hex, spaced, split, draw };
})();
