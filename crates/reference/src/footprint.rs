//! The hypervisor's own pages in the TLBs of a processor: the L2 at once, an L1 at the guest's next miss there.

use crate::{Answer, Fault, Memory, Mmu, Stage2};
use types::{Access, Gva, Hpa};

/// Pages that the hypervisor has used, and the L1s have not got yet.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    used: Vec<(Hpa, bool)>,
}

impl Footprint {
    /// The hypervisor uses a page; whether the L2 had it.
    pub fn touch(&mut self, mmu: &mut Mmu, page: Hpa, access: Access) -> bool {
        self.used.push((page, access == Access::Execute));
        mmu.use_host_page(page, None)
    }

    /// An access of the guest.
    ///
    /// # Errors
    /// Why it fails.
    pub fn access(
        &mut self,
        mmu: &mut Mmu,
        memory: &mut impl Memory,
        stage: &Stage2,
        (gva, access): (Gva, Access),
    ) -> Result<Answer, Fault> {
        let fetch = access == Access::Execute;
        if !mmu.would_hit(gva, access) {
            let pages: Vec<Hpa> = self.used.iter().filter(|used| used.1 == fetch).map(|used| used.0).collect();
            for (number, page) in pages.iter().enumerate() {
                if !pages[number + 1..].contains(page) {
                    mmu.use_host_page_before(*page, access);
                }
            }
            self.used.retain(|used| used.1 != fetch);
        }
        mmu.access(memory, stage, gva, access)
    }
}
