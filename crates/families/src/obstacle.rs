//! What a pass cannot answer.

use recording::ReadError;
use types::PageSize;

/// Why a recording is not answered for all systems in one pass. They may well be replayed one by one.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A translation has changed, and no fence has removed the old one: what is used then depends on what each TLB still holds.
    #[error("the translation of {0:#x} has changed without a fence")]
    Unfenced(u64),
    /// A page was written to for the first time of which TLBs hold pieces: each piece learns that it is writable at another time.
    #[error("a page of {0} was written to first while TLBs hold pieces of it")]
    Pieces(PageSize),
    /// A walk ends otherwise than where the access was recorded.
    #[error("an access at {0:#x} ends otherwise than recorded")]
    Differs(u64),
    /// Something that a pass does not follow.
    #[error("{0}")]
    Unknown(&'static str),
    /// The caller wants no more.
    #[error("interrupted")]
    Interrupted,
}
