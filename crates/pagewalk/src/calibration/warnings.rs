//! What makes numbers less sure, in words.

use calibrate::{Findings, HugeEntries};

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
            if !cache.size.may_be(said.size) {
                warnings.push(format!(
                    "Cache {level} holds {} to {} here, and {} by the system's word: the rest is not this machine's, or others use it.",
                    super::Unit::Bytes.text(cache.size.least as f64),
                    super::Unit::Bytes.text(cache.size.below as f64),
                    super::Unit::Bytes.text(said.size as f64),
                ));
            }
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
