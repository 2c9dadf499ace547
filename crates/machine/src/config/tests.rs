use super::*;

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
    assert_eq!(mmu.walk_caches, mmu::WalkCaches::OFF);
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
        ("mmu.walk_caches", "true", "`true` is not `on`"),
        ("mmu.walk_caches", "{ gest = [1, 2, 3, 4] }", "`gest`"),
        ("mmu.walk_caches", "{ guest = [1, 2], host = [0, 0, 0, 0] }", "a list of 4 values"),
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

#[test]
fn a_replacement_policy_holds_for_all_arrays_of_its_level() {
    let host = HostModel::load(DEFAULT_HOST).unwrap();
    let set = |settings: &[(&str, &str)]| {
        let set = |builder: ConfigBuilder, &(key, value): &(&str, &str)| builder.set(key, value).unwrap();
        settings.iter().fold(ConfigBuilder::default(), set).build().unwrap()
    };
    let policies = |arrays: &[TlbArray]| arrays.iter().map(|it| it.replacement.to_string()).collect::<Vec<_>>();
    let mmu = set(&[
        ("mmu.replacement.l2", "srrip"),
        ("mmu.replacement.nested_tlb", "random:9"),
        (
            "mmu.l1d",
            "[{ sizes = ['4K'], sets = 1, ways = 4, replacement = 'fifo' }, { sizes = ['2M'], sets = 1, ways = 4 }]",
        ),
        ("mmu.l1i", "[{ sizes = ['4K'], sets = 1, ways = 4, replacement = 'fifo' }]"),
        ("mmu.replacement.l1i", "tree-plru"),
    ]);
    let mmu = mmu.mmu(&host).unwrap();
    assert_eq!(mmu.check(), Ok(()));
    assert!(policies(&mmu.l2).iter().all(|name| name == "srrip") && mmu.l2.len() == host.tlb.l2.len());
    assert_eq!(policies(mmu.nested_tlb.as_slice()), ["random:9"]);
    assert_eq!(policies(&mmu.l1d), ["fifo", "lru"]);
    assert_eq!(policies(&mmu.l1i), ["tree-plru"]);
    let refused = set(&[("mmu.replacement.l1d", "srrip")]).mmu(&host).unwrap().check().unwrap_err().to_string();
    assert!(refused.starts_with("l1d: replacement `srrip`"), "{refused}");
    let unknown = ConfigBuilder::default().set("mmu.replacement.l2", "mru").unwrap_err().to_string();
    assert!(unknown.starts_with("mmu.replacement.l2: `mru` is not a replacement policy (lru,"), "{unknown}");
    let echo = toml::to_string(&set(&[("mmu.replacement.l2", "random:3")])).unwrap();
    assert!(echo.contains("[mmu.replacement]\nl2 = \"random:3\"\n"), "{echo}");
    assert!(!toml::to_string(&Config::default()).unwrap().contains("replacement"));
}
