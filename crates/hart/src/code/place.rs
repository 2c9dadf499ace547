//! Places of the guest's code, and where a link leads from one.

use super::jumps::Jumps;
use super::translations::Translations;
use crate::host_page::HostPage;

/// A place of the guest's code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The page in the host.
    pub(super) page: HostPage,
    /// The guest's address of the page; `None` where it is not known.
    pub(super) address: Option<u64>,
    /// In the page, in bytes.
    pub(super) offset: u16,
}

impl Place {
    /// The place `delta` bytes from the start of this one's page, in another page if the jump cache knows it.
    pub(super) fn towards(self, code: &Translations, jumps: Option<&Jumps>, delta: i32) -> Option<Self> {
        if let Ok(offset @ 0..=0xfff) = u16::try_from(delta) {
            return Some(Self { offset, ..self });
        }
        let target = self.address?.wrapping_add(i64::from(delta).cast_unsigned());
        let jump = jumps?.get(target);
        let known = jump.target == target && code.holds(jump.page);
        known.then_some(Self { page: jump.page, address: Some(target & !0xfff), offset: (target & 0xfff) as u16 })
    }
}
