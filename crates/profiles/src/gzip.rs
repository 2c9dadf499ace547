//! The format of gzip (RFC 1952), with blocks that are stored and not compressed (RFC 1951, section 3.2.4): programs that want it get it, and a
//! compressor is not worth a dependency.

/// The most bytes of a stored block.
const BLOCK: usize = 0xffff;

/// `content` in the format of gzip. Equal contents give equal bytes: there is no time and no name in it.
#[must_use]
pub fn gzip(content: &[u8]) -> Vec<u8> {
    const UNKNOWN_SYSTEM: u8 = 255;
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, UNKNOWN_SYSTEM];
    let mut blocks = content.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        stored(&mut file, &[], true);
    }
    while let Some(block) = blocks.next() {
        stored(&mut file, block, blocks.peek().is_none());
    }
    file.extend(checksum(content).to_le_bytes());
    file.extend((content.len() as u32).to_le_bytes());
    file
}

fn stored(file: &mut Vec<u8>, block: &[u8], last: bool) {
    let length = block.len() as u16;
    file.push(last.into());
    file.extend(length.to_le_bytes());
    file.extend((!length).to_le_bytes());
    file.extend(block);
}

/// CRC-32 (RFC 1952, section 8).
fn checksum(content: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let table: [u32; 256] = core::array::from_fn(|byte| {
        (0..8).fold(byte as u32, |rest, _| if rest & 1 != 0 { rest >> 1 ^ POLYNOMIAL } else { rest >> 1 })
    });
    !content.iter().fold(u32::MAX, |sum, &byte| table[((sum ^ u32::from(byte)) & 0xff) as usize] ^ sum >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_standard() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn blocks_are_stored_whole() {
        for length in [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let content: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let file = gzip(&content);
            let (mut at, mut read) = (10, Vec::new());
            loop {
                let last = file[at] == 1;
                let bytes = usize::from(u16::from_le_bytes([file[at + 1], file[at + 2]]));
                read.extend(&file[at + 5..at + 5 + bytes]);
                at += 5 + bytes;
                if last {
                    break;
                }
            }
            assert_eq!((read, at + 8), (content, file.len()));
        }
    }
}
