//! `swap.*`: the file that the hypervisor pages guests out to.

use crate::units::ByteSize;
use keys::{key, settings};
use std::path::PathBuf;

settings! {
    /// `swap.*`.
    #[derive(Eq)]
    pub struct SwapKeys {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub directory: Option<PathBuf> = None => key(
            "where pages of V=V guests go when the host's memory runs short; the file has no name and is gone with the \
             run"
        ).without("the system's for temporary files").virtual_only(),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub size: Option<ByteSize> = None => key("the most that may go there; a guest that needs more ends")
            .without("no limit").virtual_only(),
    }
}
