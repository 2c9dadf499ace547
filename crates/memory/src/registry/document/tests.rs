use super::*;
use proptest::prelude::*;

const GOOD: &str =
    "version = 1\n\n[[reservation]]\nname = \"cache\"\nsize = \"8M\"\nalloc = true\npage_tables = true\n";

#[test]
fn what_is_left_out_has_its_default() {
    let registry = read(GOOD).unwrap();
    let entry = registry.iter().next().unwrap();
    assert_eq!((entry.name.scope(), entry.bytes(), entry.freed), (Scope::System, 8 << 20, false));
    assert_eq!(entry.preallocation, Preallocation::Alloc { zeroed: false });
    assert_eq!(read("version = 1\n"), Ok(Registry::default()));
}

#[test]
fn whatever_is_wrong_is_named_with_line_and_key() {
    let changed = |from: &str, to: &str| GOOD.replace(from, to);
    let cases = [
        (String::new(), 1, "version", "missing"),
        (changed("version = 1", "version = 2"), 1, "version", "only 1"),
        (changed("version = 1", "version = \"1\""), 1, "version", "`\"1\"` is not a whole number"),
        (changed("version = 1", "edition = 1"), 1, "edition", "unknown"),
        (changed("size = \"8M\"\n", ""), 3, "size", "missing"),
        (changed("8M", "8Q"), 5, "size", "8Q"),
        (changed("\"8M\"", "1000"), 5, "size", "4096"),
        (changed("\"8M\"", "-4096"), 5, "size", "-4096"),
        (changed("\"8M\"", "99999999999999999999"), 5, "size", "99999999999999999999"),
        (changed("cache", "a b"), 4, "name", "a b"),
        (changed("\"cache\"", "7"), 4, "name", "`7` is not a text"),
        (changed("alloc = true", "alloc = 1"), 6, "alloc", "`1` is not true or false"),
        (changed("alloc = true", "aloc = true"), 6, "aloc", "unknown"),
        (changed("alloc = true", "alloc = false\nzeroed = true"), 7, "zeroed", "preallocated"),
        (changed("alloc = true", "alloc = true\ngroup = -1"), 7, "group", "-1"),
        (changed("alloc = true", "alloc = tr"), 6, "alloc", ""),
        (changed("alloc = true", "alloc = true\nalloc = true"), 7, "alloc", "duplicate"),
        (changed("[[reservation]]", "[reservation]"), 3, "reservation", "[[reservation]]"),
        (format!("{GOOD}{}", &GOOD[13..]), 9, "name", "twice"),
        (format!("{}\nreservation = 3", &GOOD[..11]), 2, "reservation", "[[reservation]]"),
    ];
    for (text, line, key, problem) in cases {
        let damaged = read(&text).expect_err(&text);
        assert_eq!((damaged.line, damaged.key.as_deref()), (line, Some(key)), "{text}\n{damaged}");
        assert!(damaged.problem.contains(problem), "{damaged}");
    }
}

/// Any registry.
fn registry() -> impl Strategy<Value = Registry> {
    let scope = prop_oneof![Just(Scope::System), any::<u32>().prop_map(Scope::Group)];
    let entry = ("[A-Za-z0-9_$.-]{1,43}", scope, 1_u64..1 << 46, any::<(bool, bool, bool, bool)>());
    prop::collection::vec(entry, 0..6).prop_map(|entries| {
        let mut registry = Registry::default();
        for (text, scope, pages, (alloc, zeroed, page_tables, freed)) in entries {
            let mut entry = Reservation::new(SectionName::new(&text, scope).unwrap(), pages * 4096).unwrap();
            entry.preallocation = if alloc { Preallocation::Alloc { zeroed } } else { Preallocation::Fluid };
            (entry.page_tables, entry.freed) = (page_tables, freed);
            let _ = registry.add(entry);
        }
        registry
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(registry in registry()) {
        prop_assert_eq!(read(&write(&registry)), Ok(registry));
    }

    /// A damaged byte is either harmless or named; it never panics.
    #[test]
    fn damage_is_an_error_or_a_registry(registry in registry(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut bytes = write(&registry).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Err(damaged) = read(&text)
        {
            prop_assert!(damaged.line >= 1 && damaged.line <= text.lines().count() + 1, "{damaged}");
        }
    }
}
