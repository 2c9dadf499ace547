//! A host model: what is accepted makes an MMU, or is refused in words.

use config::Config;
use config::host_model::HostModel;
use mmu::{Mmu, MmuConfig, TlbArray};

/// Entries of TLBs above which an MMU is not built here: it would take long.
const MANY: u64 = 1 << 16;

/// Runs the target.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match HostModel::parse("model.toml", text) {
        Ok(model) => {
            if let Ok(mmu) = Config::default().mmu(&model) {
                build(&mmu);
            }
        }
        Err(error) => {
            let _line = error.to_string();
        }
    }
}

/// Builds the MMU, unless it is a large one.
pub(crate) fn build(config: &MmuConfig) {
    let entries = |array: &TlbArray| u64::from(array.sets) * u64::from(array.ways);
    let arrays = [&config.l1d, &config.l1i, &config.l2].into_iter().flatten().chain(&config.nested_tlb);
    if arrays.map(entries).fold(0, u64::saturating_add) < MANY {
        let _built = Mmu::new(config);
    }
}
