//! Whether guests of a configuration map sections, and where.

use crate::config::Config;
use schemes::Walked;

/// Bits of address that a first-stage table of four levels translates as they stand, without sign: of the shadow table of a guest that does not translate.
const BARE_BITS: u32 = 47;

impl Config {
    /// Why guests map no sections; `None` where they can.
    #[must_use]
    pub fn section_obstacle(&self) -> Option<&'static str> {
        let facts = self.scheme.facts();
        if facts.walked == Walked::ShadowTables && self.shadow().is_none() {
            return Some("the hardware walks the guest's own table (shadow.ves)");
        }
        facts.section_obstacle
    }

    /// Bits of guest physical address below which sections can be.
    #[must_use]
    pub fn section_bits(&self) -> u32 {
        let tree = self.paging.host.mode().address_bits();
        let bits = self.backing().design().map_or(tree, |(design, mode)| design.section_bits(mode));
        match self.scheme.facts().walked {
            Walked::ShadowTables => bits.min(BARE_BITS),
            Walked::GuestTables => bits,
        }
    }
}
