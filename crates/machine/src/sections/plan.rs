//! Sections as a host's plan has them, and where each appears in a guest.

use config::units::ByteSize;
use core::ops::Range;
use devices::map::RAM_BASE;
use hypervisor::section::SectionAccess;
use memory::registry::SectionName;
use memory::section::Lifetime;
use std::path::PathBuf;
use types::{Gpa, PageSize};

/// A section of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SectionPlan {
    /// Its name.
    pub name: SectionName,
    /// Its length in bytes, a multiple of 4 KiB.
    pub bytes: u64,
    /// What it is.
    pub store: SectionStore,
    /// Whether it stays when its last mapper has ended, until the run is over.
    pub permanent: bool,
}

impl SectionPlan {
    /// How long it lives.
    pub(super) const fn lifetime(&self) -> Lifetime {
        if self.permanent { Lifetime::Permanent } else { Lifetime::Temporary }
    }
}

/// What is behind a section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SectionStore {
    /// Memory alone: the registry says which.
    Resident,
    /// A file.
    File {
        /// Where.
        path: PathBuf,
        /// Whether what guests write reaches it.
        writable: bool,
    },
    /// A file of zeroes that has no name, and is gone with the section.
    Unnamed,
}

/// What a guest has of sections.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GuestSections {
    /// The group whose sections it may map, beside the system's.
    pub group: Option<u32>,
    /// Bytes of pageable sections that it maps at once; `None` for any number.
    pub quota: Option<ByteSize>,
    /// What it maps.
    pub windows: Vec<GuestSection>,
}

impl GuestSections {
    /// Where the last of them ends; 0 if there is none.
    pub(crate) fn end(&self) -> Gpa {
        self.windows.iter().map(|window| window.at.wrapping_add(window.bytes)).max().unwrap_or_default()
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.windows.iter().map(|window| window.bytes).sum()
    }
}

/// A section in a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestSection {
    /// Its name.
    pub name: SectionName,
    /// Its length in bytes.
    pub bytes: u64,
    /// Where it is.
    pub at: Gpa,
    /// What the guest may do.
    pub access: SectionAccess,
}

/// Where a section is wanted in a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wish<'a> {
    /// Its name.
    pub name: &'a SectionName,
    /// Its length in bytes.
    pub bytes: u64,
    /// Where it is to be; `None` for wherever all of its tables can be shared.
    pub at: Option<Gpa>,
}

/// Why a section cannot be where it is wanted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlacementError {
    /// Not on a page's boundary.
    #[error("section {name}: at: {at} is not a multiple of 4096")]
    Misaligned {
        /// The section.
        name: SectionName,
        /// Where it was to be.
        at: Gpa,
    },
    /// Something else is there.
    #[error("section {name}: at: {}..{} overlaps {what} at {}..{}", .region.start, .region.end, .with.start, .with.end)]
    Overlaps {
        /// The section.
        name: SectionName,
        /// Where it was to be.
        region: Range<Gpa>,
        /// What is there.
        what: String,
        /// Where that is.
        with: Range<Gpa>,
    },
    /// More than the nested table translates.
    #[error(
        "section {name}: at: it would end beyond the {bits} bits of guest physical address that the hypervisor maps"
    )]
    Beyond {
        /// The section.
        name: SectionName,
        /// Bits of guest physical address.
        bits: u32,
    },
}

/// Addresses that no section may have: the devices' and RAM's.
pub(super) fn taken(ram_bytes: u64) -> [(&'static str, Range<Gpa>); 2] {
    [("devices", Gpa(0)..RAM_BASE), ("memory", RAM_BASE..RAM_BASE.wrapping_add(ram_bytes))]
}

/// Where each wish goes in a guest with `ram_bytes` bytes of RAM, below 2^`bits`. Those without an address are on boundaries of a gigabyte behind RAM.
///
/// # Errors
/// [`PlacementError`].
pub fn place(ram_bytes: u64, bits: u32, wishes: &[Wish<'_>]) -> Result<Vec<Gpa>, PlacementError> {
    let mut others: Vec<(String, Range<Gpa>)> =
        taken(ram_bytes).into_iter().map(|(what, range)| (what.to_owned(), range)).collect();
    let mut places = vec![Gpa(0); wishes.len()];
    let collision = |others: &[(String, Range<Gpa>)], region: &Range<Gpa>| {
        others.iter().find(|(_, other)| other.start < region.end && region.start < other.end).cloned()
    };
    let region = |wish: &Wish<'_>, at: Gpa| {
        let end = at.checked_add(wish.bytes).filter(|end| end.0 <= 1 << bits);
        end.map(|end| at..end).ok_or_else(|| PlacementError::Beyond { name: wish.name.clone(), bits })
    };
    for (wish, place) in wishes.iter().zip(&mut places) {
        let Some(at) = wish.at else { continue };
        let name = wish.name.clone();
        if !at.is_aligned(PageSize::Size4K.bytes()) {
            return Err(PlacementError::Misaligned { name, at });
        }
        let region = region(wish, at)?;
        if let Some((what, with)) = collision(&others, &region) {
            return Err(PlacementError::Overlaps { name, region, what, with });
        }
        others.push((format!("section {name}"), region));
        *place = at;
    }
    for (wish, place) in wishes.iter().zip(&mut places).filter(|(wish, _)| wish.at.is_none()) {
        let mut at = Gpa((RAM_BASE.0 + ram_bytes).next_multiple_of(PageSize::Size1G.bytes()));
        let region = loop {
            let region = region(wish, at)?;
            match collision(&others, &region) {
                Some((_, with)) => at = Gpa(with.end.0.next_multiple_of(PageSize::Size1G.bytes())),
                None => break region,
            }
        };
        others.push((format!("section {}", wish.name), region));
        *place = at;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::registry::Scope;

    const GIB: u64 = 1 << 30;

    fn placed(wishes: &[(u64, Option<u64>)]) -> Result<Vec<u64>, String> {
        let names: Vec<SectionName> =
            (0..wishes.len()).map(|n| SectionName::new(&format!("s{n}"), Scope::System).unwrap()).collect();
        let wishes: Vec<Wish<'_>> =
            names.iter().zip(wishes).map(|(name, &(bytes, at))| Wish { name, bytes, at: at.map(Gpa) }).collect();
        place(64 << 20, 41, &wishes)
            .map(|places| places.into_iter().map(|at| at.0).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn sections_without_an_address_follow_each_other_behind_ram() {
        // RAM is from 2 GiB on.
        assert_eq!(placed(&[(4096, None), (GIB + 4096, None), (4096, None)]), Ok(vec![3 * GIB, 4 * GIB, 6 * GIB]));
        assert_eq!(placed(&[(4096, None), (GIB, Some(3 * GIB))]), Ok(vec![4 * GIB, 3 * GIB]));
    }

    #[test]
    fn what_cannot_be_there_is_refused_by_name() {
        for (wishes, words) in [
            (&[(4096, Some(0x1_0000_0800))][..], &["s0", "4096", "at"][..]),
            (&[(4096, Some(0x8000_0000))], &["s0", "memory"]),
            (&[(4096, Some(0x8400_0000)), (2 << 20, Some(0x83ff_f000))], &["s1", "memory"]),
            (&[(4096, Some(0x1000_0000))], &["s0", "devices"]),
            (&[(2 << 20, Some(GIB << 2)), (4096, Some((GIB << 2) + 4096))], &["s1", "section s0"]),
            (&[(4096, Some(1 << 41))], &["s0", "41 bits"]),
            (&[(4096, Some(!0xfff))], &["s0", "41 bits"]),
            (&[(1 << 41, None)], &["s0", "41 bits"]),
        ] {
            let error = placed(wishes).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}
