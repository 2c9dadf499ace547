//! Files of snapshots whose checksums are right, whatever is in them.

use machine::snapshot::Snapshot;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Bytes before the memory in a snapshot.
const HEADER: usize = 4096;
/// Bytes of a chunk of memory.
const CHUNK: usize = 2 << 20;
/// Bytes of a page.
const PAGE: usize = 4096;
/// Pages of the memory that a file has at most.
const MOST_PAGES: usize = (64 << 20) / PAGE;

/// A file with the description `text`, and no memory.
pub(crate) fn with_description(text: &[u8]) -> Vec<u8> {
    file(&[], text)
}

/// A file with memory. `content` is the length of a description, that description, whose list of chunks is made again, and then pages: number
/// in guest memory, length, and this many bytes. All numbers are little-endian, of four bytes, the length of a page of two.
pub(crate) fn with_memory(content: &[u8]) -> Vec<u8> {
    let Some((text, pages)) = described(content) else { return with_description(content) };
    let Ok(mut description) = serde_json::from_slice::<Value>(text) else { return with_description(text) };
    let (memory, chunks) = chunks(pages);
    if let Some(list) = description.get_mut("chunks") {
        *list = chunks;
    }
    file(&memory, description.to_string().as_bytes())
}

/// The description, and the bytes behind it.
fn described(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = content.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// The chunks that have pages, one behind the other, and the list of them.
fn chunks(mut pages: &[u8]) -> (Vec<u8>, Value) {
    let mut chunks: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    while let Some((number, bytes, rest)) = page(pages) {
        pages = rest;
        let at = number % MOST_PAGES * PAGE;
        let chunk = chunks.entry(at / CHUNK).or_insert_with(|| vec![0; CHUNK]);
        chunk[at % CHUNK..][..bytes.len()].copy_from_slice(bytes);
    }
    let list = chunks.iter().map(|(number, chunk)| json!([number, crc32fast::hash(chunk)])).collect();
    (chunks.into_values().collect::<Vec<_>>().concat(), list)
}

/// The first page of `pages`: its number, its bytes, and what is behind it.
fn page(pages: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let (number, rest) = pages.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (bytes, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)).min(PAGE))?;
    Some((u32::from_le_bytes(*number) as usize, bytes, rest))
}

/// A file with `memory` and the description `text`.
fn file(memory: &[u8], text: &[u8]) -> Vec<u8> {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(b"PAWSNAP\0");
    header[8..12].copy_from_slice(&Snapshot::FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&((HEADER + memory.len()) as u64).to_le_bytes());
    header[24..32].copy_from_slice(&(text.len() as u64).to_le_bytes());
    let digest = Sha256::new().chain_update(header).chain_update(text).finalize();
    header[32..64].copy_from_slice(&digest);
    [&header, memory, text].concat()
}
