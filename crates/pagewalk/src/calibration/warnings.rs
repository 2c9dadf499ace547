//! What makes numbers less sure, in words.

use calibrate::{Findings, HugeEntries, Spread};

/// One sentence for each thing that a user has to know of.
pub(crate) fn warnings(findings: &Findings) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(name) = &findings.host.hypervisor {
        warnings.push(format!(
            "This machine is virtual ({name}): its walks are nested, and other machines may take a part of its caches and of its time."
        ));
    }
    if let Some(reason) = &findings.no_huge_pages {
        warnings.push(format!(
            "No huge pages: {reason}. Nothing is measured of 2M pages, nor of ways beyond the first cache."
        ));
    }
    match findings.huge_entries {
        Ok(HugeEntries::Splintered) => warnings.push(
            "No entry of a TLB holds a 2M page: the hypervisor maps this machine's memory by 4K pages. Reach and ways for 2M pages are not known."
                .to_owned(),
        ),
        Ok(HugeEntries::Whole) | Err(_) => {}
    }
    if let Ok(caches) = &findings.caches.levels {
        for (level, cache) in (1..).zip(caches) {
            let Some(said) = findings.host.cache(level) else { continue };
            let [least, below, said_size] =
                [cache.size.least, cache.size.below, said.size].map(|bytes| super::Unit::Bytes.text(bytes as f64));
            if cache.size.least > said.size {
                warnings.push(format!(
                    "Cache {level} seems to hold {least} to {below} here, and has {said_size} by the system's word: the step to the next level is hidden, \
                     probably by others that use that one. The model has the system's size. Calibrate again when the machine is quieter."
                ));
            } else if !cache.size.may_be(said.size) {
                warnings.push(format!(
                    "Cache {level} holds {least} to {below} here, and {said_size} by the system's word: the rest is not this machine's, or others use it."
                ));
            }
        }
        let ns =
            |steps: &[Spread]| steps.iter().map(|step| format!("{:.0}", step.median)).collect::<Vec<_>>().join(" and ");
        for (level, cache) in (1..).zip(caches) {
            let own = ns(&[cache.latency]);
            if !cache.slopes_above.is_empty() {
                warnings.push(format!(
                    "Before cache {level}, which takes {own} ns, there is a step of {} ns, and the system names no cache there: it is a slope of the cache above.",
                    ns(&cache.slopes_above)
                ));
            }
            if !cache.slower_parts.is_empty() {
                warnings.push(format!(
                    "Cache {level}, which takes {own} ns, has a slower part of {} ns. The model has the latency of the first.",
                    ns(&cache.slower_parts)
                ));
            }
        }
        let named = findings.host.caches.iter().map(|cache| cache.level as usize).max().unwrap_or_default();
        if caches.len() < named {
            warnings.push(format!(
                "{} levels of cache were found, and the system names {named}: what lies behind them is the base's. Calibrate again when the machine is \
                 quieter.",
                caches.len()
            ));
        }
        if caches.len() > 3 {
            warnings.push(format!(
                "{} levels of cache were found; the model has the first, the second and the last.",
                caches.len()
            ));
        }
    }
    warnings
}
