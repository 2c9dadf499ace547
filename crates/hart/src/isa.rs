//! Which extensions a hart has, and how they are advertised.

/// The switchable extensions of a hart over RV64IMA, Zicsr and Zifencei, which every hart has. What is off traps as
/// illegal, and is left out of [`Isa::extensions`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Isa {
    /// C: compressed instructions.
    pub c: bool,
    /// F: single-precision floating point.
    pub f: bool,
    /// D: double-precision floating point; has an effect only with F.
    pub d: bool,
    /// Zicntr: `cycle`, `time` and `instret` readable.
    pub zicntr: bool,
    /// Zihpm: the counters `hpmcounter3` to `hpmcounter31` exist as far as the bus has them, and `cycle` and `instret` are the bus's too, because
    /// supervisor software may stop and set them (SBI PMU).
    pub zihpm: bool,
    /// Zihintpause: `pause` is noticed. It is a HINT, so without it, it does nothing.
    pub zihintpause: bool,
    /// Zawrs: `wrs.nto` and `wrs.sto`.
    pub zawrs: bool,
    /// Sstc: `stimecmp`.
    pub sstc: bool,
    /// Svnapot: 64 KiB contiguous pages. The MMU implements it; the hart only advertises it.
    pub svnapot: bool,
    /// Svadu: the hardware sets A and D bits. The MMU implements it; the hart only advertises it.
    pub svadu: bool,
    /// Svade, said beside Svadu: the hardware faults until supervisor software asks it to set them. The hart only advertises it.
    pub svade: bool,
    /// `pause` and `wrs.nto` leave for the caller of [`Hart::run`](crate::Hart::run), as where a hypervisor lets them exit. Else they do nothing.
    pub spins_exit: bool,
}

impl Default for Isa {
    fn default() -> Self {
        Self {
            c: true,
            f: true,
            d: true,
            zicntr: true,
            zihpm: false,
            zihintpause: true,
            zawrs: false,
            sstc: true,
            svnapot: true,
            svadu: false,
            svade: false,
            spins_exit: false,
        }
    }
}

impl Isa {
    /// The bits that `scounteren` holds: of the counters that there may be.
    pub(crate) const fn counters(&self) -> u64 {
        if self.zihpm { u32::MAX as u64 } else { 7 }
    }

    /// Names of the extensions the hart has, in canonical order, as a device tree lists them.
    #[must_use]
    pub fn extensions(&self) -> Vec<&'static str> {
        let switchable = [
            (self.f, "f"),
            (self.f && self.d, "d"),
            (self.c, "c"),
            (self.zicntr, "zicntr"),
            (true, "zicsr"),
            (true, "zifencei"),
            (self.zihintpause, "zihintpause"),
            (self.zihpm, "zihpm"),
            (self.zawrs, "zawrs"),
            (self.sstc, "sstc"),
            (self.svade, "svade"),
            (self.svadu, "svadu"),
            (self.svnapot, "svnapot"),
        ];
        let mut names = vec!["i", "m", "a"];
        names.extend(switchable.into_iter().filter_map(|(has, name)| has.then_some(name)));
        names
    }

    /// The ISA string of the device tree's `riscv,isa`.
    #[must_use]
    pub fn string(&self) -> String {
        let names = self.extensions();
        let (letters, longer): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| name.len() == 1);
        let mut string = format!("rv64{}", letters.concat());
        for name in longer {
            string.push('_');
            string.push_str(name);
        }
        string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_is_not_advertised() {
        let isa = Isa { d: false, zicntr: false, sstc: false, svnapot: false, ..Isa::default() };
        assert_eq!(isa.string(), "rv64imafc_zicsr_zifencei_zihintpause");
    }
}
