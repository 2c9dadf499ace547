//! The file of a kernel: what is loaded lies in RAM, and nothing overlaps; and what it says of itself is read to an end.

use introspection::{Linux, kernel_symbols};
use machine::LEAST_MEMORY;
use machine::loader::{BootFiles, GuestPhysical, Plan};
use std::convert::Infallible;
use types::Gpa;

/// RAM that notes what is written to it.
struct Written(Vec<(u64, u64)>);

impl GuestPhysical for Written {
    type Error = Infallible;

    fn write(&mut self, gpa: Gpa, bytes: &[u8]) -> Result<(), Infallible> {
        if !bytes.is_empty() {
            self.0.push((gpa.0, gpa.0.checked_add(bytes.len() as u64).expect("RAM ends below the end of addresses")));
        }
        Ok(())
    }
}

/// Runs the target.
///
/// # Panics
/// If a file is accepted and does not lie in RAM, or two parts share a byte.
pub fn run(input: &[u8]) {
    describes_itself(input);
    const INITRD: [u8; 5000] = [1; 5000];
    const TREE: [u8; 3000] = [2; 3000];
    let ram = Gpa(0x8000_0000)..Gpa(0x8000_0000 + LEAST_MEMORY);
    for initrd in [None, Some(&INITRD[..])] {
        let files =
            BootFiles { kernel_name: "kernel", kernel: input, load_address: None, initrd, least_memory: LEAST_MEMORY };
        let plan = match Plan::new(files, ram.clone()) {
            Ok(plan) => plan,
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "an error of more than a line: {error}");
                continue;
            }
        };
        assert!(ram.contains(&plan.entry()), "{} is no entry point", plan.entry());
        let Ok(tree) = plan.tree(TREE.len() as u64) else { continue };
        let mut written = Written(Vec::new());
        let Ok(()) = plan.write(&mut written, tree, &TREE);
        written.0.sort_unstable();
        let ends = written.0.first().zip(written.0.last());
        assert!(ends.is_some_and(|(first, last)| ram.start.0 <= first.0 && last.1 <= ram.end.0), "{:x?}", written.0);
        assert!(written.0.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:x?}", written.0);
    }
}

/// Reads the symbols and types of an image.
fn describes_itself(image: &[u8]) {
    let symbols = kernel_symbols(image);
    assert!(symbols.is_some() || Linux::of_image(image).is_none(), "a kernel without symbols");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_has_a_kernel_that_describes_itself() {
        let image = include_bytes!("../corpus/kernels/described");
        assert!(Linux::of_image(image).is_some());
        assert_eq!(kernel_symbols(image).map(|symbols| symbols.len()), Some(304));
    }
}
