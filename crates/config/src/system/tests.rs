use super::*;
use crate::host_model::{DEFAULT_HOST, HostModel};
use proptest::prelude::*;

fn system(text: &str) -> System {
    text.parse().unwrap()
}

#[test]
fn systems_are_written_the_same_whatever_order_and_quotes_they_came_with() {
    for (text, canonical) in [
        ("native", "native:4K"),
        ("nested:4K+2M/mmu.nested_tlb=off", "nested:4K+2M/mmu.nested_tlb=off"),
        ("nested/seed=3/harts=2", "nested:4K+4K/harts=2/seed=3"),
        ("nested/harts=1/harts=2", "nested:4K+4K/harts=2"),
        ("nested/host='xeon-2017'", "nested:4K+4K/host=xeon-2017"),
        ("nested/host=../hosts/x.toml/harts=2", "nested:4K+4K/harts=2/host=\"../hosts/x.toml\""),
        ("nested/host='a/b=c.toml'", "nested:4K+4K/host=\"a/b=c.toml\""),
        ("nested/host='7'", "nested:4K+4K/host=\"7\""),
        ("nested/mmu.nested_tlb = off", "nested:4K+4K/mmu.nested_tlb=off"),
    ] {
        let read = text.replace(" = ", "=").parse::<System>().unwrap();
        assert_eq!(read.to_string(), canonical);
        assert_eq!(system(canonical), read);
    }
}

#[test]
fn lists_are_split_at_commas_that_belong_to_no_value() {
    let list =
        |text: &str| text.parse::<SystemList>().map(|list| list.0.iter().map(System::to_string).collect::<Vec<_>>());
    let tlb = "nested/mmu.l2=[{ sizes = ['4K', '2M'], sets = 16, ways = 4 }], native:2M";
    let read = list(tlb).unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!(read[1], "native:2M");
    let config = system(&read[0]).configure(ConfigBuilder::default()).unwrap();
    assert_eq!(config.mmu.l2.unwrap()[0].sizes.len(), 2);
    assert_eq!(list("native,nested/host='a,b.toml'").unwrap()[1], "nested:4K+4K/host=\"a,b.toml\"");
}

#[test]
fn what_is_no_system_is_named() {
    for (text, says) in [
        ("", "unknown scheme"),
        ("native,", "unknown scheme"),
        ("nest/harts=2", "`nest`"),
        ("nested/harts", "`harts` is not KEY=VALUE"),
        ("nested/", "`` is not KEY=VALUE"),
        ("nested/=2", "`=2` is not KEY=VALUE"),
        ("nested/ha rts=2", "`ha rts=2` is not KEY=VALUE"),
        ("nested/scheme=native", "not a setting"),
        ("nested/mmu.l2=[1,native", "`[`"),
    ] {
        let error = text.parse::<SystemList>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn settings_win_over_what_all_systems_share() {
    let shared = ConfigBuilder::default().set("harts", "3").unwrap().set("mmu.nested_tlb", "8").unwrap();
    let own = system("nested:2M/harts=2").configure(shared.clone()).unwrap();
    assert_eq!((own.harts, own.scheme.to_string().as_str()), (2, "nested:2M+2M"));
    assert_eq!(own.mmu.nested_tlb, crate::config::Switch::Sized(8));
    let error = system("nested/harts=0").configure(shared.clone()).unwrap_err().to_string();
    assert!(error.contains("harts"), "{error}");
    let error = system("nested/mmu.nested_tbl=off").configure(shared).unwrap_err().to_string();
    assert_eq!(error, "unknown key `mmu.nested_tbl`; did you mean `mmu.nested_tlb`?");
}

#[test]
fn the_native_system_keeps_the_settings_that_matter_to_it() {
    let system = system("nested:2M+4K/harts=2/isa.d=false/isa.f=false/mmu.nested_tlb=off/paging.host=sv48x4");
    let host = HostModel::load(DEFAULT_HOST).unwrap();
    let native =
        system.native(|system| system.configure(ConfigBuilder::default()).ok().map(|config| config.native(&host)));
    assert_eq!(native.to_string(), "native:2M/harts=2/isa.d=false/isa.f=false");
}

proptest! {
    /// Any settings, written and read again, are the same, alone and in a list.
    #[test]
    fn writing_and_reading_agree(settings in proptest::collection::btree_map("[a-z]{1,4}(\\.[a-z_]{1,6})?", value(), 0..4)) {
        let written = System { scheme: PagedScheme::default(), settings };
        prop_assume!(!written.settings.contains_key("scheme"));
        let text = written.to_string();
        prop_assert_eq!(&text.parse::<System>().unwrap(), &written, "{}", text);
        let list = format!("nested,{text},{text}").parse::<SystemList>().unwrap();
        prop_assert_eq!(&list.0[1..], [written.clone(), written], "{}", text);
    }

    /// Whatever the user types is a system or an error.
    #[test]
    fn no_text_panics(text in "(native|nested)?[/=,a-z.'\"\\[\\]{}é ]{0,24}") {
        let _ = text.parse::<SystemList>();
        let _ = text.parse::<Sweep>();
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Boolean),
        "[a-z0-9/=,'\"\\\\\\[{ .:+-]{0,12}".prop_map(Value::String),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|table| Value::Table(table.into_iter().collect())),
        ]
    })
}
