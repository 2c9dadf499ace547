//! `guest.*`: boot parameters of the guest, beside its page size.

use keys::{key, settings};
use serde::{Deserialize, Serialize};
use types::PageSize;

settings! {
    /// `guest.*`.
    #[derive(Copy, Eq)]
    pub struct GuestKeys {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thp: Option<HugePages> = None => key(
            "Linux's transparent huge pages: `never`; `madvise`, where a program asks for them; or `always`, in all \
             anonymous memory in which an aligned 2M fits"
        ).without("`never` with guest pages of 4K, else `always`"),
    }
}

impl GuestKeys {
    /// Linux's policy for transparent huge pages under a scheme with guest pages of this size. Without the key, a guest with 4K pages has
    /// none, so that its page size is what the scheme says, and one with larger pages has as many as it finds.
    #[must_use]
    pub fn huge_pages(self, page: PageSize) -> HugePages {
        let usual = if page == PageSize::Size4K { HugePages::Never } else { HugePages::Always };
        self.thp.unwrap_or(usual)
    }
}

/// `guest.thp`: values of Linux's parameter `transparent_hugepage`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HugePages {
    /// No memory.
    Never,
    /// Memory for which a program asks by `madvise(MADV_HUGEPAGE)`.
    Madvise,
    /// All anonymous memory in which an aligned 2M fits.
    Always,
}

impl HugePages {
    /// The name that configuration and kernel have for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Madvise => "madvise",
            Self::Always => "always",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_key_only_guests_with_large_pages_have_huge_pages() {
        let of = |thp, page| GuestKeys { thp }.huge_pages(page).name();
        assert_eq!(of(None, PageSize::Size4K), "never");
        assert_eq!((of(None, PageSize::Size2M), of(None, PageSize::Size1G)), ("always", "always"));
        for page in [PageSize::Size4K, PageSize::Size2M] {
            assert_eq!(of(Some(HugePages::Madvise), page), "madvise");
        }
    }
}
