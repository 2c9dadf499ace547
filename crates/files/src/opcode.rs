//! What a message asks for: `enum fuse_opcode` of `linux/fuse.h`.

/// The operations that are served. Any other gets `ENOSYS`, which Linux takes for "not supported", and does not ask again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Opcode {
    Lookup,
    Forget,
    GetAttributes,
    SetAttributes,
    ReadLink,
    SymbolicLink,
    MakeNode,
    MakeDirectory,
    Unlink,
    RemoveDirectory,
    Rename,
    Open,
    Read,
    Write,
    FileSystem,
    Release,
    Sync,
    Init,
    OpenDirectory,
    ReadDirectory,
    ReleaseDirectory,
    Create,
    Destroy,
    ForgetSeveral,
    RenameWithFlags,
}

impl Opcode {
    /// The operation of this number, if it is served.
    pub(crate) const fn of(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::Lookup,
            2 => Self::Forget,
            3 => Self::GetAttributes,
            4 => Self::SetAttributes,
            5 => Self::ReadLink,
            6 => Self::SymbolicLink,
            8 => Self::MakeNode,
            9 => Self::MakeDirectory,
            10 => Self::Unlink,
            11 => Self::RemoveDirectory,
            12 => Self::Rename,
            14 => Self::Open,
            15 => Self::Read,
            16 => Self::Write,
            17 => Self::FileSystem,
            18 => Self::Release,
            20 => Self::Sync,
            26 => Self::Init,
            27 => Self::OpenDirectory,
            28 => Self::ReadDirectory,
            29 => Self::ReleaseDirectory,
            35 => Self::Create,
            38 => Self::Destroy,
            42 => Self::ForgetSeveral,
            45 => Self::RenameWithFlags,
            _ => return None,
        })
    }

    /// Whether it changes the directory. `Open` and `Write` are checked with the file.
    pub(crate) const fn changes(self) -> bool {
        match self {
            Self::SetAttributes
            | Self::SymbolicLink
            | Self::MakeNode
            | Self::MakeDirectory
            | Self::Unlink
            | Self::RemoveDirectory
            | Self::Rename
            | Self::RenameWithFlags
            | Self::Create
            | Self::Write => true,
            Self::Lookup
            | Self::Forget
            | Self::GetAttributes
            | Self::ReadLink
            | Self::Open
            | Self::Read
            | Self::FileSystem
            | Self::Release
            | Self::Sync
            | Self::Init
            | Self::OpenDirectory
            | Self::ReadDirectory
            | Self::ReleaseDirectory
            | Self::Destroy
            | Self::ForgetSeveral => false,
        }
    }

    /// Whether it has no answer.
    pub(crate) const fn is_unanswered(self) -> bool {
        matches!(self, Self::Forget | Self::ForgetSeveral)
    }
}
