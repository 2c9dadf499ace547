//! How a guest learns how its processors are allocated: three handshakes (section 3.1), of which it uses one.

use types::Gpa;

/// How a VM's vCPUs get pCPUs (section 2.3), as the guest is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AllocationForm {
    /// f = 0: pCPUs are shared. A guest that is about to spin had better call.
    Shared,
    /// f = 1: one to one. Spinning is better than calling.
    Dedicated,
}

impl AllocationForm {
    /// The flag f, the return code of the call at boot, and what the interrupt's handler reads.
    #[must_use]
    pub const fn flag(self) -> u32 {
        match self {
            Self::Shared => 0,
            Self::Dedicated => 1,
        }
    }
}

/// What a VM has agreed with the hypervisor, and what it has been told.
#[derive(Clone, Debug)]
pub struct Handshake {
    form: AllocationForm,
    /// 1: the communication area.
    area: Option<Gpa>,
    /// 3: the external interrupt.
    interrupt: bool,
}

/// How a change of the allocation reaches the guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Notice {
    /// Write this flag, a 32-bit word, at that address.
    pub store: Option<(Gpa, u32)>,
    /// Raise the external interrupt.
    pub interrupt: bool,
}

impl Handshake {
    /// Nothing agreed yet.
    #[must_use]
    pub const fn new(form: AllocationForm) -> Self {
        Self { form, area: None, interrupt: false }
    }

    /// What was agreed, for a snapshot: the communication area, and whether the interrupt is wanted.
    #[must_use]
    pub const fn agreed(&self) -> (Option<Gpa>, bool) {
        (self.area, self.interrupt)
    }

    /// Goes on with what was agreed elsewhere. Nothing is to be done now.
    pub const fn agree(&mut self, area: Option<Gpa>, interrupt: bool) {
        self.area = area;
        self.interrupt = interrupt;
    }

    /// The guest registers its communication area; what is to be done now. 0 gives it up.
    pub fn register(&mut self, area: Gpa) -> Notice {
        self.area = (area != Gpa(0)).then_some(area);
        Notice { store: self.store(), interrupt: false }
    }

    /// The guest asks, as it boots (2) or in its interrupt handler (3).
    #[must_use]
    pub const fn form(&self) -> AllocationForm {
        self.form
    }

    /// The guest wants the external interrupt, or wants it no longer.
    pub const fn want_interrupt(&mut self, wanted: bool) {
        self.interrupt = wanted;
    }

    /// The allocation is now `form`; what is to be done so that the guest learns of it. A guest that asked once at boot learns nothing: "a
    /// change of processor allocation forms requires the guest to be IPLed again".
    pub fn change(&mut self, form: AllocationForm) -> Notice {
        if self.form == form {
            return Notice::default();
        }
        self.form = form;
        Notice { store: self.store(), interrupt: self.interrupt }
    }

    fn store(&self) -> Option<(Gpa, u32)> {
        self.area.map(|area| (area, self.form.flag()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_set_at_registration_and_at_each_change() {
        let mut handshake = Handshake::new(AllocationForm::Dedicated);
        assert_eq!(handshake.register(Gpa(0x8000)).store, Some((Gpa(0x8000), 1)));
        assert_eq!(
            handshake.change(AllocationForm::Shared),
            Notice { store: Some((Gpa(0x8000), 0)), interrupt: false }
        );
        assert_eq!(handshake.change(AllocationForm::Shared), Notice::default(), "no change");
        assert_eq!(handshake.register(Gpa(0)).store, None);
        assert_eq!(handshake.change(AllocationForm::Dedicated), Notice::default(), "given up");
    }

    #[test]
    fn the_interrupt_comes_at_each_change_if_it_is_wanted() {
        let mut handshake = Handshake::new(AllocationForm::Shared);
        assert!(!handshake.change(AllocationForm::Dedicated).interrupt);
        handshake.want_interrupt(true);
        assert!(handshake.change(AllocationForm::Shared).interrupt);
        assert_eq!(handshake.form().flag(), 0);
    }
}
