//! What the hypervisor's own work touches, as a configuration asks for it.

use crate::assembly::host_plan::HostPlan;
use crate::parts::footprint::Footprint;
use config::host_model::HostModel;
use config::{Config, ConfigError, FidelityName, FootprintName};
use hypervisor::footprint::FootprintPlan;
use memory::{HOST_BASE, Host};

/// The footprint of the hypervisor of `plan`, if the configuration asks for it. A native machine has no hypervisor.
pub(super) fn footprint(
    config: &Config,
    model: &HostModel,
    plan: &HostPlan,
    host: &Host,
) -> Result<Option<Box<Footprint>>, ConfigError> {
    if config.footprint == FootprintName::Off || config.scheme.facts().is_native {
        return Ok(None);
    }
    let refused = |problem| ConfigError::Range { key: "footprint".into(), problem };
    let touched =
        model.footprint.as_ref().ok_or_else(|| refused(format!("host model {} has no [footprint]", model.name)))?;
    let (_, bytes) = host.memory.host_range();
    let pages = FootprintPlan::new(touched, HOST_BASE.wrapping_add(bytes as u64), plan.pcpus);
    let end = pages.end(plan.guests.len()).0 - HOST_BASE.0;
    if let (Some(caches), true) = (&model.caches, config.fidelity != FidelityName::Counts)
        && end > caches.most_memory()
    {
        return Err(refused(format!(
            "the hypervisor's memory ends {end} bytes behind the start of memory, and the caches of {} reach {}",
            model.name,
            caches.most_memory()
        )));
    }
    Ok(Some(Box::new(Footprint::new(pages, plan.pcpus))))
}
