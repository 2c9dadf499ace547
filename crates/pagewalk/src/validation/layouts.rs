//! Several placements of a machine's pages in host memory.
//!
//! A run on a physical machine gets other frames each time. Which sets of its caches they share differs, and so does the time. A prediction for
//! one placement has an arbitrary error for that reason, so that predictions are medians over placements.

use config::ConfigBuilder;
use config::system::System;
use toml::Value;

/// The key that is varied.
const KEY: &str = "frame_placement";

/// `system` with `count` random placements, or alone where users have set the key. Native memory is the guest's own, so that one is enough: it has the
/// host's memory in base pages, of which the guest's scattered frames take fewer bytes.
pub(crate) fn with_layouts(builder: &ConfigBuilder, system: &System, count: u32) -> Vec<System> {
    if system.settings().contains_key(KEY) || builder.is_set(KEY) {
        return vec![system.clone()];
    }
    let placed = |seed: u32| system.clone().with(KEY, Value::String(format!("random:{seed}")));
    let count = if system.scheme().is_baseline() { 1 } else { count };
    (1..=count).map(placed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config;

    #[test]
    fn virtual_machines_have_several_placements() {
        let builder = ConfigBuilder::default();
        let layouts = |system: &str, builder: &ConfigBuilder| -> Vec<String> {
            with_layouts(builder, &system.parse().unwrap(), 2).iter().map(ToString::to_string).collect()
        };
        assert_eq!(layouts("native:2M", &builder), ["native:2M/frame_placement=random:1"]);
        let both = ["nested:4K+4K/frame_placement=random:1", "nested:4K+4K/frame_placement=random:2"];
        assert_eq!(layouts("nested:4K+4K", &builder), both);
        assert_eq!(layouts(both[1], &builder), both[1..]);
        let set = builder.clone().set(KEY, "'random:9'").unwrap();
        assert_eq!(layouts("nested:4K+4K", &set), ["nested:4K+4K"]);
        let placement = |system: &str| -> Config { system.parse::<System>().unwrap().configure(set.clone()).unwrap() };
        assert_eq!(placement(both[0]).frame_placement.0.to_string(), "random:1");
    }
}
