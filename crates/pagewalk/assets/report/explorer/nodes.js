// The tables that a walk reads, by columns of the guest's dimension: where each is, which of its entries is read, and whether caches spare the read. What
// they spare is known from the walk with empty caches.
pagewalk.nodes = (() => {
  "use strict";
  const ENTRY = 8n;

  // A table that is `slots` entries long; where it has no levels, that is not known, nor where it begins.
  const node = (key, { level, at }, address, slots) => {
    if (!slots) return { key, level: null, at: BigInt(at), index: null, slots };
    const index = (BigInt(address) >> BigInt(12 + 9 * level)) & BigInt(slots - 1);
    return { key, level, at: BigInt(at) - ENTRY * index, index, slots };
  };

  const columnKey = (step) => (step.entry ? step.entry.level : "page");

  const columnOf = ({ walk, native }, record, step, levels) => {
    const key = columnKey(step);
    // The same step of the walk that is shown; with caches there may be none.
    const shown = record.steps.find((other) => columnKey(other) === key);
    const hosts = step.references.map((reference, index) => {
      const place = shown ? shown.references.findIndex((other) => other.at === reference.at) : -1;
      const slots = levels < 2 ? null : reference.level === levels - 1 ? 2048 : 512;
      return { ...node(place < 0 ? `${key}/spared-${index}` : `${key}/${place}`, reference, step.gpa, slots), spared: place < 0 };
    });
    const guest = step.entry && { ...node(`${key}/entry`, step.entry, walk.gva, 512), spared: !shown };
    if (guest && !native) guest.gpa = BigInt(step.gpa) - ENTRY * guest.index;
    const free = shown && shown.answer !== "tables" && !native ? shown.answer : null;
    return { key, guest, hosts, free, gpa: native ? null : step.gpa, hpa: step.hpa };
  };

  // The columns of a walk whose caches are as `record` has them.
  const columns = (entry, record) => {
    const { whole, host_levels } = entry.walk;
    const levels = whole.steps.some((step) => step.references.length) ? host_levels : 0;
    const end = [{ gpa: whole.gpa, hpa: whole.hpa, answer: "segment", references: [], entry: null }];
    const [steps, shown] = whole.steps.length ? [whole.steps, record.steps] : [end, end];
    const segment = record.guest_segment ? [{ key: "segment", segment: record.guest_segment, guest: null, hosts: [], free: null }] : [];
    return [...segment, ...steps.map((step) => columnOf(entry, { ...record, steps: shown }, step, levels))];
  };

  return { columns };
})();
