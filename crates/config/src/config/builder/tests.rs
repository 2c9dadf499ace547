use super::super::*;
use crate::host_model::{HostModel, WalkCacheModel};
use ::mmu::TlbArray;
use keys::{KeyGroup, key, settings};
use types::{Cycles, PagingMode};

#[test]
fn files_and_settings_add_up_and_the_later_wins() {
    let config = ConfigBuilder::default()
        .file("a.toml", "harts = 2\nmemory = '256M'\n[mmu]\nwalk_caches = 'off'\n")
        .unwrap()
        .set("harts", "4")
        .unwrap()
        .set("mmu.nested_tlb", "32")
        .unwrap()
        .set("paging.guest", "sv48")
        .unwrap()
        .set("scheme", "nested:4K+2M")
        .unwrap()
        .build()
        .unwrap();
    assert_eq!((config.harts, config.memory), (4, ByteSize(256 << 20)));
    assert_eq!(config.paging.guest.mode(), PagingMode::Sv48);
    let mmu = config.mmu(&HostModel::load(DEFAULT_HOST).unwrap()).unwrap();
    assert_eq!(mmu.walk_caches, ::mmu::WalkCaches::OFF);
    assert_eq!(mmu.nested_tlb.unwrap().entries(), 32);
}

#[test]
fn what_is_wrong_is_named_with_where() {
    let problem = |key: &str, value: &str| match ConfigBuilder::default().set(key, value) {
        Err(error) => error.to_string(),
        Ok(builder) => builder.build().expect_err("must be refused").to_string(),
    };
    assert_eq!(problem("mmu.walk_cache", "off"), "unknown key `mmu.walk_cache`; did you mean `mmu.walk_caches`?");
    assert!(problem("mmu.nested_tlb", "maybe").contains("maybe"));
    assert!(problem("scheme", "nest").contains("nest"));
    assert!(problem("harts", "0").contains("harts"));
    assert!(problem("harts", "many").contains("harts"));
    assert!(problem("memory", "4097").contains("memory"));
    assert!(problem("isa.f", "false").contains("isa.d"));
    assert!(problem("harts.x", "1").contains("harts"));
    let file = ConfigBuilder::default().file("b.toml", "hart = 2").unwrap_err().to_string();
    assert!(file.contains("b.toml") && file.contains("hart"), "{file}");
}

#[test]
fn the_echo_reads_back() {
    let config = ConfigBuilder::default().set("mmu.walk_caches", "off").unwrap().build().unwrap();
    let text = toml::to_string(&config).unwrap();
    let again = ConfigBuilder::default().file("echo", &text).unwrap().build().unwrap();
    assert_eq!(config.mmu.walk_caches, again.mmu.walk_caches);
    assert_eq!(toml::to_string(&again).unwrap(), text);
}

#[test]
fn switches_take_names_and_sizes_and_name_what_is_neither() {
    let set = |key: &str, value: &str| ConfigBuilder::default().set(key, value).and_then(ConfigBuilder::build);
    let mmu = |key: &str, value: &str| set(key, value).unwrap().mmu;
    assert_eq!(mmu("mmu.nested_tlb", "on").nested_tlb, Switch::On);
    assert_eq!(mmu("mmu.nested_tlb", "off").nested_tlb, Switch::Off);
    assert_eq!(mmu("mmu.nested_tlb", "64").nested_tlb, Switch::Sized(64));
    let sizes = WalkCacheModel { guest: [1, 2, 3, 4], host: [0; 4] };
    let table = "{ guest = [1, 2, 3, 4], host = [0, 0, 0, 0] }";
    assert_eq!(mmu("mmu.walk_caches", table).walk_caches, Switch::Sized(sizes));
    for (key, value, says) in [
        ("mmu.walk_caches", "maybe", "`maybe` is not `on`, `off` or a size"),
        ("mmu.walk_caches", "true", "`true` is not `on`, `off` or a size"),
        ("mmu.walk_caches", "{ gest = [1, 2, 3, 4] }", "`gest`"),
        ("mmu.walk_caches", "{ guest = [1, 2], host = [0, 0, 0, 0] }", "a list of 4 values is wanted, not of 2"),
        ("mmu.nested_tlb", "-1", "-1"),
    ] {
        let error = set(key, value).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains(says), "{error}");
    }
}

#[test]
fn a_setting_sets_one_key() {
    let error = ConfigBuilder::default().set("harts", "1\nmemory = 4096").unwrap_err().to_string();
    assert!(error.contains("harts"), "{error}");
}

fn configured(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let set = |builder: ConfigBuilder, &(key, value): &(&str, &str)| builder.set(key, value);
    settings.iter().try_fold(ConfigBuilder::default(), set).and_then(ConfigBuilder::build)
}

fn host(settings: &[(&str, &str)]) -> Result<HostModel, String> {
    let config = configured(settings).map_err(|error| error.to_string())?;
    config.host_model().map_err(|error| error.to_string())
}

#[test]
fn every_number_of_a_host_model_is_a_key() {
    let xeon = HostModel::load("xeon-2017").unwrap();
    let changed = host(&[
        ("host.tlb.l2.ways", "8"),
        ("host", "xeon-2017"),
        ("host.tlb.l2.1.sets", "2"),
        ("host.tlb.walk_caches.guest.0", "16"),
        ("host.caches.l2.latency", "20"),
        ("host.prices.exit", "900"),
        ("host.name", "mine"),
    ]);
    let changed = changed.unwrap();
    assert_eq!((changed.tlb.l2[0].ways, changed.tlb.l2[1].ways), (8, xeon.tlb.l2[1].ways));
    assert_eq!((changed.tlb.l2[0].sets, changed.tlb.l2[1].sets), (xeon.tlb.l2[0].sets, 2));
    assert_eq!(changed.tlb.walk_caches.guest, [16, 4, 2, 1]);
    assert_eq!(changed.caches.unwrap().l2.unwrap().latency, 20);
    assert_eq!((changed.prices.exit, changed.prices.entry), (Cycles(900), xeon.prices.entry));
    assert_eq!(changed.name, "mine");
    let lists = host(&[("host.tlb.l1d", "[{ sizes = ['4K'], sets = 1, ways = 4 }]")]).unwrap();
    assert_eq!(lists.tlb.l1d.len(), 1);
}

#[test]
fn a_number_that_gives_no_host_is_named() {
    for (key, value, said) in [
        ("host.tlb.l2.wyas", "8", "unknown key `host.tlb.l2.wyas`; did you mean `host.tlb.l2.ways`?"),
        ("host.tlb.l2.ways", "many", "host.tlb.l2.ways: `many` is not a whole number"),
        ("host.tlb.l2.7.ways", "8", "host.tlb.l2.7.ways: there is no 7: the host has 1 of them, from 0 on"),
        ("host.clock_hz", "0", "host.clock_hz: `0` is not a number of cycles from 1 to 1000000000000"),
        ("host.prices", "3", "key `host.prices` is a table"),
        ("host.caches.l1d.ways", "65", "host.caches.l1d.ways: `65` is not a number of ways from 1 to 64"),
    ] {
        let error = host(&[(key, value)]).unwrap_err();
        assert!(error.starts_with(said), "{key}={value}: {error}");
    }
}

#[test]
fn numbers_of_the_host_are_echoed_and_read_back() {
    let config = configured(&[("host.prices.exit", "900"), ("host", "xeon-2017")]).unwrap();
    let text = toml::to_string(&config).unwrap();
    assert!(text.contains("\"host.prices.exit\" = 900"), "{text}");
    let again = ConfigBuilder::default().file("echo", &text).unwrap().build().unwrap();
    assert_eq!(again, config);
    let table = "[host]\nbase = 'xeon-2017'\nprices.exit = 900\n";
    assert_eq!(ConfigBuilder::default().file("table", table).unwrap().build().unwrap(), config);
}

settings! {
    /// What a scheme of one's own may be told.
    #[derive(Eq)]
    pub struct OwnKeys {
        pub interval: u64 = 1000 => key("writes are counted for so long").number(1, 1_000_000).unit("cycles"),
        pub eager: bool = false => key("from the start"),
    }
}

#[test]
fn a_group_from_elsewhere_is_read_checked_told_of_and_echoed_as_any_other() {
    let builder = || ConfigBuilder::default().with_group(KeyGroup::of::<OwnKeys>("own"));
    let set = |key: &str, value: &str| builder().set(key, value).and_then(ConfigBuilder::build);
    let config = set("own.interval", "7").unwrap();
    assert_eq!(config.open.group("own").read::<OwnKeys>(), OwnKeys { interval: 7, eager: false });
    let echo = toml::to_string(&config).unwrap();
    assert!(echo.contains("[own]\neager = false\ninterval = 7"), "{echo}");
    let problem = |key: &str, value: &str| set(key, value).unwrap_err().to_string();
    assert_eq!(problem("own.intreval", "7"), "unknown key `own.intreval`; did you mean `own.interval`?");
    assert_eq!(problem("own.interval", "0"), "own.interval: `0` is not a number of cycles from 1 to 1000000");
    assert_eq!(problem("own.interval", "x"), "own.interval: `x` is not a number of cycles from 1 to 1000000");
    assert_eq!(problem("own.eager", "x"), "own.eager: `x` is not true or false");
    let row = "| `own.interval` | `1000` | writes are counted for so long, in cycles |";
    assert!(table(&[KeyGroup::of::<OwnKeys>("own")]).contains(row));
    // Who does not know the group does not take its keys.
    assert!(ConfigBuilder::default().set("own.interval", "7").is_err());
}

#[test]
fn a_replacement_policy_holds_for_all_arrays_of_its_level() {
    let host = HostModel::load(DEFAULT_HOST).unwrap();
    let policies = |arrays: &[TlbArray]| arrays.iter().map(|it| it.replacement.to_string()).collect::<Vec<_>>();
    let mmu = configured(&[
        ("mmu.replacement.l2", "srrip"),
        ("mmu.replacement.nested_tlb", "random:9"),
        (
            "mmu.l1d",
            "[{ sizes = ['4K'], sets = 1, ways = 4, replacement = 'fifo' }, { sizes = ['2M'], sets = 1, ways = 4 }]",
        ),
        ("mmu.l1i", "[{ sizes = ['4K'], sets = 1, ways = 4, replacement = 'fifo' }]"),
        ("mmu.replacement.l1i", "tree-plru"),
    ]);
    let mmu = mmu.unwrap().mmu(&host).unwrap();
    assert_eq!(mmu.check(), Ok(()));
    assert!(policies(&mmu.l2).iter().all(|name| name == "srrip") && mmu.l2.len() == host.tlb.l2.len());
    assert_eq!(policies(mmu.nested_tlb.as_slice()), ["random:9"]);
    assert_eq!(policies(&mmu.l1d), ["fifo", "lru"]);
    assert_eq!(policies(&mmu.l1i), ["tree-plru"]);
    let refused = configured(&[("mmu.replacement.l1d", "srrip")]).unwrap().mmu(&host).unwrap().check();
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("l1d: replacement `srrip`"), "{refused}");
    let unknown = ConfigBuilder::default().set("mmu.replacement.l2", "mru").unwrap_err().to_string();
    assert!(unknown.starts_with("mmu.replacement.l2: `mru` is not a replacement policy (lru,"), "{unknown}");
    let echo = toml::to_string(&configured(&[("mmu.replacement.l2", "random:3")]).unwrap()).unwrap();
    assert!(echo.contains("[mmu.replacement]\nl2 = \"random:3\"\n"), "{echo}");
    assert!(!toml::to_string(&Config::default()).unwrap().contains("replacement"));
}

#[test]
fn a_host_model_names_the_policy_of_an_array() {
    let changed = host(&[("host.tlb.l2.replacement", "tree-plru")]).unwrap();
    assert_eq!(changed.tlb.l2[0].array().replacement.to_string(), "tree-plru");
    let config = configured(&[("host.tlb.l2.replacement", "tree-plru"), ("mmu.replacement.l2", "fifo")]).unwrap();
    assert_eq!(config.mmu(&changed).unwrap().l2[0].replacement.to_string(), "fifo", "a key of the MMU comes first");
    let error = host(&[("host.tlb.l2.replacement", "mru")]).unwrap_err();
    assert!(error.starts_with("host.tlb.l2.replacement: `mru` is not a replacement policy"), "{error}");
}
