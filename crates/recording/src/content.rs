//! What a frame contains, in columns.
//!
//! Pages that are accessed at random have numbers in which one byte is as good as random, and another nearly constant. zstd finds that only
//! where bytes of one kind lie together, so differences of pages that do not fit into an event's first byte are a column of their own, and each
//! byte of them is one.
//!
//! A content is packed as the number of such differences, the bytes that the largest of them needs, the lowest byte of each, the next byte of
//! each and so on, and then the events.

use crate::error::ReadError;
use crate::varint::{put, take};

/// The most bytes that a difference needs.
const MOST_PLANES: usize = size_of::<u64>();

/// What a frame contains: its events, for a [`Decoder`](crate::Decoder).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// The events, but for `far`.
    pub(crate) events: Vec<u8>,
    /// Differences of pages that do not fit into an event's first byte, in their order.
    pub(crate) far: Vec<u64>,
}

impl Content {
    /// The content that was packed as `bytes`.
    ///
    /// # Errors
    /// [`ReadError::Event`] if the bytes end before the differences that they say they have.
    pub fn unpack(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut at = 0;
        let columns = columns(bytes, &mut at);
        let (count, planes) = columns.ok_or(ReadError::Event { at, problem: "differences of pages are cut off" })?;
        let (packed, events) = bytes[at..].split_at(count * planes);
        let mut far = vec![0; count];
        for (plane, column) in packed.chunks_exact(count.max(1)).enumerate() {
            for (difference, &byte) in far.iter_mut().zip(column) {
                *difference |= u64::from(byte) << (8 * plane);
            }
        }
        Ok(Self { events: events.to_vec(), far })
    }

    /// How many bytes it is packed in, at most.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.events.len() + self.far.len() * MOST_PLANES
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.far.clear();
    }

    /// Packs it into `to`, in place of what is there.
    pub(crate) fn pack(&self, to: &mut Vec<u8>) {
        to.clear();
        let used = self.far.iter().fold(0, |all, difference| all | difference);
        let planes = (u64::BITS - used.leading_zeros()).div_ceil(8).max(1);
        put(to, self.far.len() as u64);
        put(to, u64::from(planes));
        for plane in 0..planes {
            to.extend(self.far.iter().map(|difference| (difference >> (8 * plane)) as u8));
        }
        to.extend(&self.events);
    }
}

/// How many differences there are, and the bytes of each; `None` if they are not all there. `at` moves behind the two numbers.
fn columns(bytes: &[u8], at: &mut usize) -> Option<(usize, usize)> {
    let count = usize::try_from(take(bytes, at)?).ok()?;
    let planes = usize::try_from(take(bytes, at)?).ok()?;
    let whole = (1..=MOST_PLANES).contains(&planes) && count.checked_mul(planes)? <= bytes.len() - *at;
    whole.then_some((count, planes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_content_unpacks_as_it_was(events: Vec<u8>, far: Vec<u64>, bits in 0..64_u32) {
            let content = Content { events, far: far.into_iter().map(|difference| difference >> bits).collect() };
            let mut bytes = vec![1, 2, 3];
            content.pack(&mut bytes);
            prop_assert!(bytes.len() <= content.bytes() + 20);
            prop_assert_eq!(Content::unpack(&bytes).unwrap(), content);
        }

        #[test]
        fn any_bytes_are_a_content_or_an_error(bytes: Vec<u8>) {
            if let Ok(content) = Content::unpack(&bytes) {
                prop_assert!(content.events.len() + content.far.len() <= bytes.len());
            }
        }
    }

    /// The number of differences is a claim: no memory is taken for more than there are.
    #[test]
    fn more_differences_than_bytes_are_refused() {
        let mut bytes = Vec::new();
        put(&mut bytes, u64::MAX);
        put(&mut bytes, 1);
        assert!(Content::unpack(&bytes).is_err());
        assert!(Content::unpack(&[1, 0, 0]).is_err(), "a difference has a byte");
        assert!(Content::unpack(&[1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err(), "and no more than eight");
    }
}
