//! Configuration: a TOML file in the first part of the input, and a `key=value` in each line behind a line of `---`.

use crate::host_models;
use config::host_model::HostModel;
use config::{Config, ConfigBuilder};

/// The configuration that the input asks for.
fn configuration(text: &str) -> Option<Config> {
    let (file, settings) = text.split_once("\n---\n").unwrap_or((text, ""));
    let mut builder = ConfigBuilder::default().file("file.toml", file).ok()?;
    for (key, value) in settings.lines().filter_map(|line| line.split_once('=')) {
        builder = builder.set(key, value).ok()?;
    }
    builder.build().ok()
}

/// Runs the target.
///
/// # Panics
/// If what a configuration prints as is not read as the same.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Some(config) = configuration(text) else { return };
    let printed = toml::to_string(&config).expect("every key has a form in TOML");
    let again = ConfigBuilder::default().file("printed.toml", &printed).and_then(ConfigBuilder::build);
    let again = again.unwrap_or_else(|error| panic!("what was accepted is refused: {error}"));
    assert_eq!(again, config, "the configuration is not as it was printed");
    if HostModel::names().any(|name| name == config.host) {
        // Numbers that the text changes may give no host.
        if let Ok(mmu) = config.host_model().map_err(|_| ()).and_then(|host| config.mmu(&host).map_err(|_| ())) {
            host_models::build(&mmu);
        }
    }
}
