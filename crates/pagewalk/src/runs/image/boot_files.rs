//! What is loaded when a guest boots, and its hash.

use sha2::{Digest, Sha256};
use std::sync::{Arc, OnceLock};

/// A kernel and what it is loaded with. Guests that boot the same share them.
#[derive(Debug)]
pub(crate) struct BootFiles {
    /// The kernel's content.
    pub(super) kernel: Arc<[u8]>,
    /// The name of the kernel's file, or what it is.
    pub(super) kernel_name: String,
    /// The root file system, if the guest has one in memory.
    pub(super) initrd: Option<Arc<[u8]>>,
    digest: OnceLock<[u8; 32]>,
}

impl BootFiles {
    pub(super) fn new(kernel: Arc<[u8]>, kernel_name: String, initrd: Option<Arc<[u8]>>) -> Self {
        Self { kernel, kernel_name, initrd, digest: OnceLock::new() }
    }

    /// A hash of the contents. It is computed once: these are 30 MB and more, and each run of a guest asks for it.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        self.digest.get_or_init(|| {
            let mut hash = Sha256::new();
            for part in [&*self.kernel, self.initrd.as_deref().unwrap_or_default()] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            hash.finalize().into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_each_file_and_on_where_it_ends() {
        let files = |kernel: &[u8], initrd: Option<&[u8]>| {
            *BootFiles::new(kernel.into(), "k".to_owned(), initrd.map(Into::into)).digest()
        };
        let one = files(b"ab", Some(b"c"));
        assert_eq!(one, files(b"ab", Some(b"c")));
        for other in [files(b"a", Some(b"bc")), files(b"abc", None), files(b"ab", None), files(b"ax", Some(b"c"))] {
            assert_ne!(one, other);
        }
    }
}
