//! What a replay may have otherwise than the machine that was recorded, and what it refuses since the guest would do something else.

use super::about::About;
use crate::error::Failure;
use crate::systems::Configured;
use config::{FidelityName, FootprintName, GuestTimeName};
use recording::Summary;
use schemes::registry;

/// Keys, or groups of keys, that change translation and nothing that a guest does.
const TRANSLATION: [&str; 6] = ["mmu", "shadow", "paging.host", "memory_attribute", "frame_placement", "host"];

/// Refuses a key that changes what the guest does.
pub(super) fn check_key(key: &str) -> Result<(), Failure> {
    let is_of = |group: &str| key.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    // A system with it is refused for a reason of its own.
    if TRANSLATION.into_iter().chain(registry::names()).chain(["footprint"]).any(is_of) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{key}: it changes more than translation: a recording is replayed with what it was recorded with"
    )))
}

/// Refuses a system on which a replay would not be what a run is.
pub(super) fn check_system(about: &About, summary: &Summary, on: &Configured) -> Result<(), Failure> {
    let config = &on.config;
    let refused = |problem: &str| Err(Failure::Usage(format!("{}: {problem}", on.system)));
    if config.scheme.guest_page() != about.page.0 {
        let again = if about.imported.is_some() {
            "import the trace again with --pages"
        } else {
            "record it again with --page"
        };
        return refused(&format!("the recorded guest has pages of {}; {again}", about.page.0));
    }
    if config.fidelity != FidelityName::Counts {
        return refused("fidelity: caches change how long the guest's turns are, which a recording does not have");
    }
    if config.footprint == FootprintName::On {
        return refused("footprint: what the hypervisor displaces depends on accesses that a recording leaves out");
    }
    let facts = config.scheme.facts();
    if facts.segments.has_guest() || config.segment.region_bytes(facts.segments, config.memory) > 0 {
        return refused("the guest would use a segment, which the recorded one did not have");
    }
    if facts.name == "agile" {
        return refused("the scheme acts at times within a turn, which a recording does not have");
    }
    if config.host_memory.is_some() || config.balloon.target.is_some() {
        return refused("pages move while the guest runs, and when depends on translation");
    }
    if summary.used_time && config.guest_time == GuestTimeName::Cycles {
        return refused(
            "the guest has used the time, which depends on translation; record it with --set guest_time=instructions",
        );
    }
    if summary.used_time && on.system.settings().keys().any(|key| key == "host" || key.starts_with("host.")) {
        return refused("the guest has used the time, which another host changes");
    }
    Ok(())
}
