//! The reference of the configuration: what `pagewalk config` prints, and docs/configuration.md has as a table.

use super::Config;
use toml::{Table, Value};

/// A key, or several that are told of together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// Their dotted names.
    pub keys: &'static [&'static str],
    /// The default in words, where it is no value.
    default: Option<&'static str>,
    /// What they mean, and what values they take, in Markdown.
    pub about: &'static str,
}

const fn key(keys: &'static [&'static str], about: &'static str) -> Reference {
    Reference { keys, default: None, about }
}

const fn without(keys: &'static [&'static str], default: &'static str, about: &'static str) -> Reference {
    Reference { keys, default: Some(default), about }
}

/// Every key of the configuration, in the order of its tables.
pub const REFERENCE: &[Reference] = &[
    key(
        &["host"],
        "a host model: `sandybridge-2012`, `xeon-2017`, `sunway-1621`, `alpha-1997`, `hitachi-1985`, or the path of a \
         TOML file like those in `hosts/` (`pagewalk hosts NAME` prints one, with the sources of its numbers)",
    ),
    key(
        &["fidelity"],
        "how time is kept: `counts`, a table reference has a fixed price; `cycles`, data, instructions and table entries \
         come through modelled caches ([caches.md](caches.md))",
    ),
    key(
        &["scheme"],
        "a scheme of those below, with the guest's page size and, after a plus, that of the monitor's pages: \
         `native:2M`, `nested:4K+2M`. Sizes 4K, 2M, 1G. `compare` and `bench` take their schemes from `--scheme`",
    ),
    key(&["harts"], "1 to 64, each on a real processor of its own"),
    without(&["memory"], "`1G` (`compare` with vos: `4G`)", "size, a multiple of 4K, at most 256G; vos reaches 253G"),
    key(&["memory_attribute"], "how a virtual machine's memory lies in the host's, below; `native` has none"),
    without(
        &["host_memory"],
        "as much as the guests can need",
        "memory of the host: a size, a multiple of 4K, 8M to 1T",
    ),
    without(
        &["swap.directory"],
        "the system's for temporary files",
        "where pages of V=V guests go when the host's memory runs short; the file has no name and is gone with the \
         run",
    ),
    without(&["swap.size"], "no limit", "the most that may go there; a guest that needs more ends"),
    without(
        &["balloon.target"],
        "none",
        "memory that the guest is asked to give up through its virtio balloon, which it then has: a size, a multiple \
         of 4K, less than `memory`. Its frames go back to the host",
    ),
    key(&["balloon.at", "balloon.until"], "from when, and until when, in seconds of guest time; `until` 0 is for ever"),
    key(&["balloon.pressure"], "`true`: only once the host's memory has run short"),
    key(&["timeout"], "seconds of guest time after which the run ends as failed; 0 is never"),
    key(
        &["warmup"],
        "what comes before measurement: `none`; `touch`, all of the guest's memory has been mapped before its first \
         instruction, and nobody pays for it; `snapshot`, the guest goes on with a snapshot as warm as it was there, \
         which is the default with `--restore`; or so many instructions of the region of interest, below",
    ),
    key(&["seed"], "what the guest's random numbers start from"),
    key(&["quantum"], "how far the clocks of running processors may drift apart, in cycles"),
    key(
        &["engine"],
        "`threaded`; `match`, its oracle; `compiled`: threaded, and hot code compiled to code of the host (x86-64; elsewhere, and with modelled caches, nothing is compiled); or `compiled-all`, which compiles everything, for tests. All give the same results. A build with debug assertions uses `match` instead of `threaded`",
    ),
    without(
        &["mmu.l1d", "mmu.l1i", "mmu.l2"],
        "the host model's",
        "arrays of a TLB level: `[{ sizes = [\"4K\"], sets = 16, ways = 4 }, …]`; sets a power of two, 1 for full \
         associativity. Each may have a `replacement`, as below",
    ),
    without(
        &["mmu.replacement.l1d", "mmu.replacement.l1i", "mmu.replacement.l2"],
        "the arrays' own, or else `lru`",
        "which page of a full set makes room, in all arrays of a level. `lru`: the page that was used least recently, \
         exactly. `tree-plru`: at each node of a binary tree over the ways, the half that was not used last. `fifo`: the \
         page that was inserted first, whatever its uses. `random`: any page, by a generator that starts from a seed: \
         `random:SEED`, where 0 is assumed. `srrip`: a page whose next use is predicted to be distant: SRRIP-HP with \
         2-bit re-reference prediction values; not for an L1, because it needs every hit, and repeated hits of the page \
         used last do not leave the L1's hit path",
    ),
    without(&["mmu.replacement.nested_tlb"], "`lru`", "the same of the nested TLB, for which all of them are"),
    key(
        &["mmu.walk_caches"],
        "`on` (the host model's), `off`, or `{ guest = [32, 4, 2, 1], host = [32, 4, 2, 1] }`: entries per level, \
         from the one above the leaf tables upwards",
    ),
    key(&["mmu.nested_tlb"], "`on` (the host model's), `off`, or a number of entries"),
    without(
        &["mmu.refill"],
        "the scheme's, or else the host model's",
        "who refills the TLBs: `hardware`, a walker; `software`, a routine in the hardware mode, whose instructions \
         the host model prices, without walk caches and nested TLB ([flat.md](flat.md)). `flat` implies software and \
         `flat-hw` hardware; of the hosts `sunway-1621` and `alpha-1997` are refilled by software",
    ),
    key(
        &["mmu.ad"],
        "who sets A and D bits of the guest's tables: the guest on a `fault`, the `hardware` (Svadu, then \
         advertised), or `switchable`: the guest until it asks for the hardware by the SBI's FWFT (Svade and Svadu)",
    ),
    key(
        &["shadow.tables"],
        "under `shadow`: `multiple` tables, one for each address space, or a `single` one for each hart, emptied at \
         each change of address space",
    ),
    key(
        &["shadow.count"],
        "the most tables under `multiple`, 1 to 1024 and no fewer than harts; the one that has been unused for \
         longest gives way",
    ),
    key(
        &["shadow.coherence"],
        "what keeps tables like the guest's: its `fence` instructions, as TLBs are kept, or `write-protect`: a store \
         to a page of the guest's tables exits",
    ),
    key(
        &["shadow.invalidation"],
        "what a fence with operands, or a PPTLB, invalidates: `selective`, what it names, `full`, everything, or \
         `conventional`: a PPTLB everything, a fence what it names",
    ),
    key(
        &["shadow.assist"],
        "events that the host's hardware mode handles without an exit: `none`, `vm-assist` (entries that are \
         missing), or `msa` (invalidations and changes of table as well)",
    ),
    key(
        &["shadow.selection_flag"],
        "`on`: a table that has not been in use since the last full invalidation is spared it",
    ),
    key(
        &["shadow.ves"],
        "Virtual Equal Shadow: the guest's own table is walked in place of a shadow table; for `memory_attribute` \
         `V=R` alone",
    ),
    key(&["shadow.check"], "every entry is compared with what it should be, at fences and after the run"),
    without(
        &["segment.region"],
        "half of `memory` where the guest has a segment, else none",
        "how much of `memory` is kept apart for primary regions, at its end: a size that leaves a multiple of 2M",
    ),
    key(
        &["segment.filter.bits", "segment.filter.hashes"],
        "escape filters: bits for each page size, a power of two from 64 to 1048576, or `auto`, as many as the pages \
         that escape need, and 256 at least; and hash functions, 1, 2, 4 or 8 ([segments.md](segments.md))",
    ),
    key(
        &["segment.classify"],
        "misses are counted by the segments that would hold them, for the linear model; `compare --model` sets it",
    ),
    key(
        &["segment.hot_add"],
        "self-ballooning: as much contiguous memory as the guest's balloon gives up is added to the region; needs \
         `balloon.target`",
    ),
    key(
        &["faulty.count"],
        "so many pages of the host's memory have hard faults, anywhere in it as `seed` says, up to 65536; native \
         machines have sound memory",
    ),
    key(&["faulty.addresses"], "pages that have some, by a host physical address in each: `[0xc0001000, …]`"),
    key(&["faulty.at"], "from when on, in seconds of guest time; 0 is from before the guests' memory is allocated"),
    key(
        &["disk.latency_us"],
        "disks: microseconds of guest time from a request to its interrupt, up to a second; 0 has a request done before \
         the guest goes on",
    ),
    without(
        &["guest.thp"],
        "`never` with guest pages of 4K, else `always`",
        "Linux's transparent huge pages: `never`; `madvise`, where a program asks for them; or `always`, in all \
         anonymous memory in which an aligned 2M fits",
    ),
    key(
        &["plic.contexts"],
        "contexts of the interrupt controller: `s`, one for each hart, in S-mode; `m+s`, two for each hart, as QEMU's \
         `virt` has them, for kernels with hard-coded contexts ([own-kernels.md](own-kernels.md#interrupts))",
    ),
    key(
        &["paging.guest"],
        "`sv39`, `sv48`, `sv57`: the largest mode that `satp` takes. vos uses it; Linux uses the largest",
    ),
    key(&["paging.host"], "`sv39x4`, `sv48x4`, `sv57x4`: the nested table's"),
    key(
        &["isa.c", "isa.f", "isa.d", "isa.zicntr", "isa.zihintpause", "isa.sstc", "isa.svnapot"],
        "extensions; what is off traps as illegal and is not advertised",
    ),
    key(&["isa.zawrs"], "the same; a wait on a reservation ends at once"),
    key(
        &["sbi.legacy", "sbi.fwft", "sbi.sta"],
        "extensions of the SBI that a guest finds ([sbi.md](sbi.md)); one that is off is answered with \
         SBI_ERR_NOT_SUPPORTED",
    ),
    key(
        &["sbi.pmu", "sbi.susp"],
        "the same, of which Linux takes notice; `sbi.pmu` also has hpmcounter CSRs (Zihpm), and lets the guest stop \
         `cycle` and `instret`",
    ),
];

impl Reference {
    /// The default: a value as TOML has it, or words. Of several keys, one that all have, or all of theirs.
    #[must_use]
    pub fn default(&self) -> String {
        if let Some(words) = self.default {
            return words.to_owned();
        }
        let config = Table::try_from(Config::default()).expect("a configuration is a table");
        let mut values: Vec<String> = self.keys.iter().map(|key| value(&config, key)).collect();
        values.dedup();
        values.join(", ")
    }

    /// The line of the table in docs/configuration.md.
    #[must_use]
    pub fn row(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|key| format!("`{key}`")).collect();
        let default = self.default();
        let default = if self.default.is_some() { default } else { format!("`{default}`") };
        format!("| {} | {default} | {} |", keys.join(", "), self.about.replace('|', "\\|"))
    }
}

fn value(config: &Table, key: &str) -> String {
    let mut parts = key.split('.');
    let first = parts.next().and_then(|part| config.get(part));
    let value = parts.try_fold(first, |value, part| Some(value?.get(part))).flatten();
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys;
    use super::*;

    #[test]
    fn every_key_is_told_of_once() {
        let mut told: Vec<&str> = REFERENCE.iter().flat_map(|reference| reference.keys).copied().collect();
        told.sort_unstable();
        let mut known = keys::all();
        known.sort_unstable();
        assert_eq!(told, known);
    }

    #[test]
    fn every_replacement_policy_is_told_of() {
        let key = |reference: &&Reference| reference.keys.contains(&"mmu.replacement.l2");
        let about = REFERENCE.iter().find(key).unwrap().about;
        for facts in mmu::POLICIES {
            assert!(about.contains(&format!("`{}`: {}", facts.name, facts.summary)), "{}", facts.name);
            assert!(facts.refused_at_l1.is_none_or(|reason| about.contains(reason)), "{}", facts.name);
        }
    }

    #[test]
    fn every_key_has_a_default() {
        for reference in REFERENCE {
            assert!(!reference.default().is_empty(), "{:?}", reference.keys);
        }
        let default = |key: &str| REFERENCE.iter().find(|reference| reference.keys.contains(&key)).unwrap().default();
        assert_eq!(default("scheme"), "native:4K");
        assert_eq!(default("segment.filter.hashes"), "auto, 4");
    }
}
