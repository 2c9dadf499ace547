//! `paging.*`: paging modes.

use keys::{key, settings};
use serde::{Deserialize, Serialize};
use types::{PagingMode, SecondStageMode};

settings! {
    /// `paging.*`.
    #[derive(Copy, Eq)]
    pub struct PagingKeys {
        pub guest: GuestPaging = GuestPaging::Sv39 => key(
            "`sv39`, `sv48`, `sv57`: the largest mode that `satp` takes. vos uses it; Linux uses the largest"
        ),
        pub host: HostPaging = HostPaging::Sv39x4 => key("`sv39x4`, `sv48x4`, `sv57x4`: the nested table's")
            .virtual_only(),
    }
}

/// `paging.guest`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as the modes")]
pub enum GuestPaging {
    #[default]
    Sv39,
    Sv48,
    Sv57,
}

impl GuestPaging {
    /// The mode.
    #[must_use]
    pub const fn mode(self) -> PagingMode {
        match self {
            Self::Sv39 => PagingMode::Sv39,
            Self::Sv48 => PagingMode::Sv48,
            Self::Sv57 => PagingMode::Sv57,
        }
    }

    /// The name that it is written with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sv39 => "sv39",
            Self::Sv48 => "sv48",
            Self::Sv57 => "sv57",
        }
    }
}

/// `paging.host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "named as the modes")]
pub enum HostPaging {
    #[default]
    Sv39x4,
    Sv48x4,
    Sv57x4,
}

impl HostPaging {
    /// The mode.
    #[must_use]
    pub const fn mode(self) -> SecondStageMode {
        match self {
            Self::Sv39x4 => SecondStageMode::Sv39x4,
            Self::Sv48x4 => SecondStageMode::Sv48x4,
            Self::Sv57x4 => SecondStageMode::Sv57x4,
        }
    }
}
