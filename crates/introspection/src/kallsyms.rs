//! The symbols that a Linux kernel has of itself (`CONFIG_KALLSYMS`), found in its flat Image. `scripts/kallsyms.c` of Linux 6.12 and 7.2 says what it
//! has: the number of symbols, their compressed names, markers (where in the names each 256th is), a table of 256 tokens, where each of them
//! begins, and the addresses.
//!
//! The Image has no directory, so the parts are found by what they must be. The table of tokens has the digits in a row, each for itself. The index
//! of tokens is then known, and so is everything else: a guess that is wrong fits one of them by chance, and not all.

/// What a symbol of a kernel names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelSymbolKind {
    /// Code.
    Code,
    /// Data.
    Data,
}

/// A symbol of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSymbol {
    /// Its virtual address.
    pub start: u64,
    /// Bytes up to the next symbol; 0 of the last one.
    pub bytes: u64,
    /// What it names.
    pub kind: KernelSymbolKind,
    /// Its name.
    pub name: String,
}

/// Where a Linux kernel for RISC-V is linked (`KERNEL_LINK_ADDR` in `arch/riscv/include/asm/pgtable.h`).
pub const LINKED_AT: u64 = 0xffff_ffff_8000_0000;

/// Tokens of the table.
const TOKENS: usize = 256;
/// Names between two markers.
const STRIDE: usize = 256;
/// More bytes than any token has.
const LONGEST_TOKEN: usize = 64;
/// More bytes than any compressed name has.
const LONGEST_NAME: usize = 512;
/// Places that are tried as that of a table: a hostile image has as many as it likes that begin well.
const MOST_PLACES: usize = 64;
/// More symbols than any kernel has.
const MOST_SYMBOLS: usize = 1 << 22;

/// The symbols of an Image; `None` if none are found in it.
#[must_use]
pub fn kernel_symbols(image: &[u8]) -> Option<Vec<KernelSymbol>> {
    // Older kernels align each part to 8 bytes, newer ones to 4.
    [8, 4].into_iter().find_map(|alignment| Layout::find(image, alignment).and_then(|layout| layout.symbols(image)))
}

/// Where the parts are.
struct Layout<'i> {
    tokens: Vec<&'i [u8]>,
    /// The first byte of the table.
    table: usize,
    /// The first byte behind the index.
    behind: usize,
    alignment: usize,
}

impl<'i> Layout<'i> {
    /// The table of tokens, and its index behind it.
    fn find(image: &'i [u8], alignment: usize) -> Option<Self> {
        const DIGITS: &[u8] = b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00";
        let digits = image.windows(DIGITS.len()).enumerate().filter(|(_, window)| *window == DIGITS);
        digits.take(MOST_PLACES).find_map(|(at, _)| {
            let table = start_of_table(image, at)?;
            let mut tokens = Vec::with_capacity(TOKENS);
            let (mut at, mut starts) = (table, Vec::with_capacity(TOKENS));
            while tokens.len() < TOKENS {
                let bytes = image.get(at..)?.iter().take(LONGEST_TOKEN).position(|&byte| byte == 0)?;
                starts.push(at - table);
                tokens.push(&image[at..at + bytes]);
                at += bytes + 1;
            }
            let index = at.next_multiple_of(alignment);
            let fits = |(number, &start): (usize, &usize)| {
                half(image, index + 2 * number).is_some_and(|found| usize::from(found) == start)
            };
            starts.iter().enumerate().all(fits).then_some(Self { tokens, table, behind: index + 2 * TOKENS, alignment })
        })
    }

    fn symbols(&self, image: &[u8]) -> Option<Vec<KernelSymbol>> {
        let (first, markers) = self.markers(image)?;
        let last = *markers.last()? as usize;
        // The names end before the markers. Between their number and them lie at most the names behind the last marker.
        let latest = first.checked_sub(last)?.checked_sub(self.alignment)?;
        let earliest = latest.saturating_sub(STRIDE * LONGEST_NAME);
        let number = |at: usize| word(image, at).map(|number| number as usize);
        let candidates = (earliest..=latest).rev().filter(|at| at % self.alignment == 0);
        let candidates = candidates.filter_map(|at| {
            let count = number(at)?;
            let fits = count > (markers.len() - 1) * STRIDE && count <= markers.len() * STRIDE && count <= MOST_SYMBOLS;
            fits.then_some((at, count))
        });
        let mut candidates = candidates.take(MOST_PLACES);
        let names =
            candidates.find_map(|(at, count)| self.names(&image[at + self.alignment..first], count, &markers))?;
        let addresses = self.addresses(image, names.len())?;
        let symbols = names.into_iter().zip(addresses).filter_map(|(name, start)| {
            let kind = match name.chars().next()? {
                't' | 'T' | 'w' | 'W' => KernelSymbolKind::Code,
                'd' | 'D' | 'b' | 'B' | 'r' | 'R' | 'v' | 'V' => KernelSymbolKind::Data,
                _ => return None,
            };
            Some(KernelSymbol { start, bytes: 0, kind, name: name[1..].to_owned() })
        });
        Some(with_sizes(symbols.collect()))
    }

    /// The markers, which end where the table of tokens begins, and the first byte of them.
    fn markers(&self, image: &[u8]) -> Option<(usize, Vec<u32>)> {
        let mut at = self.table.checked_sub(4)?;
        // What aligns the table.
        while word(image, at)? == 0 {
            at = at.checked_sub(4)?;
        }
        let mut markers = vec![word(image, at)?];
        while markers.last() != Some(&0) {
            at = at.checked_sub(4)?;
            let marker = word(image, at)?;
            if marker >= *markers.last()? || markers.len() > MOST_SYMBOLS / STRIDE {
                return None;
            }
            markers.push(marker);
        }
        markers.reverse();
        Some((at, markers))
    }

    /// `count` names, each with the letter of its kind before it, if they begin where the markers say.
    fn names(&self, bytes: &[u8], count: usize, markers: &[u32]) -> Option<Vec<String>> {
        let (mut names, mut at) = (Vec::with_capacity(count), 0);
        for number in 0..count {
            if number % STRIDE == 0 && markers[number / STRIDE] as usize != at {
                return None;
            }
            let mut length = usize::from(*bytes.get(at)?);
            at += 1;
            if length & 0x80 != 0 {
                length = length & 0x7f | usize::from(*bytes.get(at)?) << 7;
                at += 1;
            }
            let tokens = bytes.get(at..at + length)?.iter().flat_map(|&token| self.tokens[usize::from(token)]);
            let name: String =
                tokens.map(|&byte| if byte.is_ascii_graphic() { char::from(byte) } else { '?' }).collect();
            if name.is_empty() {
                return None;
            }
            names.push(name);
            at += length;
        }
        Some(names)
    }

    /// The addresses. Those of older kernels are from a base; those of newer ones are each from their own place, and the first is that of the Image.
    fn addresses(&self, image: &[u8], count: usize) -> Option<Vec<u64>> {
        let first = self.behind.next_multiple_of(self.alignment);
        let offsets: Vec<u32> = (0..count).map(|number| word(image, first + 4 * number)).collect::<Option<_>>()?;
        // The addresses of a newer kernel lie behind its code.
        if offsets.is_sorted() && offsets.first()?.cast_signed() >= 0 {
            let base = (first + 4 * count).next_multiple_of(8);
            let base = u64::from_le_bytes(image.get(base..base + 8)?.try_into().ok()?);
            // A kernel that is relocated has its base from the relocation.
            let base = if base >= LINKED_AT { base } else { LINKED_AT };
            return Some(offsets.into_iter().map(|offset| base.wrapping_add(offset.into())).collect());
        }
        let place = |number: usize, offset: u32| 4 * number as i64 + i64::from(offset.cast_signed());
        let start = place(0, *offsets.first()?);
        let addresses = offsets.into_iter().enumerate();
        Some(addresses.map(|(number, offset)| LINKED_AT.wrapping_add_signed(place(number, offset) - start)).collect())
    }
}

/// Where a table of tokens begins whose digits are at `digits`.
fn start_of_table(image: &[u8], digits: usize) -> Option<usize> {
    let mut at = digits;
    for _ in 0..b'0' {
        let end = at.checked_sub(1)?;
        let start = image[..end].iter().rev().take(LONGEST_TOKEN).position(|&byte| byte == 0)?;
        at = end - start;
    }
    Some(at)
}

/// Each symbol up to the next one at another address, of whatever kind that is.
fn with_sizes(mut symbols: Vec<KernelSymbol>) -> Vec<KernelSymbol> {
    let mut starts: Vec<u64> = symbols.iter().map(|symbol| symbol.start).collect();
    starts.sort_unstable();
    for symbol in &mut symbols {
        let next = starts.partition_point(|start| *start <= symbol.start);
        symbol.bytes = starts.get(next).map_or(0, |next| next - symbol.start);
    }
    symbols
}

fn half(image: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(image.get(at..at + 2)?.try_into().ok()?))
}

fn word(image: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Image with these symbols as `scripts/kallsyms.c` writes them, each byte of a name a token of its own.
    fn image(names: &[(String, u32)], alignment: usize, relative: bool) -> Vec<u8> {
        let align = |image: &mut Vec<u8>| image.resize(image.len().next_multiple_of(alignment), 0);
        let mut image = vec![0x55; 4099];
        align(&mut image);
        image.extend((names.len() as u32).to_le_bytes());
        align(&mut image);
        let (start, mut markers) = (image.len(), Vec::new());
        for (number, (name, _)) in names.iter().enumerate() {
            if number % STRIDE == 0 {
                markers.push((image.len() - start) as u32);
            }
            image.push(name.len() as u8);
            image.extend(name.bytes());
        }
        align(&mut image);
        markers.iter().for_each(|marker| image.extend(marker.to_le_bytes()));
        align(&mut image);
        let mut starts = Vec::new();
        let table = image.len();
        for token in 0..=255u8 {
            starts.push((image.len() - table) as u16);
            // Bytes that no name has stand for longer tokens.
            if token.is_ascii_graphic() {
                image.push(token);
            } else {
                image.extend(format!("x{token}").bytes());
            }
            image.push(0);
        }
        align(&mut image);
        starts.iter().for_each(|start| image.extend(start.to_le_bytes()));
        align(&mut image);
        for (number, (_, offset)) in names.iter().enumerate() {
            let from_here = offset.wrapping_sub(0x10_0000 + 4 * number as u32);
            image.extend(if relative { from_here } else { *offset }.to_le_bytes());
        }
        image.resize(image.len().next_multiple_of(8), 0);
        image.extend(LINKED_AT.to_le_bytes());
        image
    }

    #[test]
    fn both_formats_are_read() {
        let mut names: Vec<(String, u32)> =
            (0..700).map(|number| (format!("tfunction_{number}"), 16 * number)).collect();
        names.push(("Dtable".to_owned(), 0x10000));
        names.push(("B__bss_stop".to_owned(), 0x11000));
        for (alignment, relative) in [(8, false), (4, false), (4, true)] {
            let symbols = kernel_symbols(&image(&names, alignment, relative)).expect("symbols");
            assert_eq!(symbols.len(), names.len());
            let of = |name: &str| symbols.iter().find(|symbol| symbol.name == name).unwrap();
            assert_eq!((of("function_3").start, of("function_3").bytes), (LINKED_AT + 48, 16));
            assert_eq!((of("table").start, of("table").bytes), (LINKED_AT + 0x10000, 0x1000));
            assert_eq!(of("function_699").kind, KernelSymbolKind::Code);
        }
    }

    #[test]
    fn what_is_cut_off_or_no_kernel_has_none() {
        let names: Vec<(String, u32)> = (0..300).map(|number| (format!("tf{number}"), 16 * number)).collect();
        let whole = image(&names, 8, false);
        for bytes in (0..whole.len() - 8).step_by(7) {
            assert!(kernel_symbols(&whole[..bytes]).is_none(), "{bytes} bytes");
        }
        assert!(kernel_symbols(&vec![0; 100_000]).is_none());
        assert!(kernel_symbols(b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\x00").is_none());
    }
}
