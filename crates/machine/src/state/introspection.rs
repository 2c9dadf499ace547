//! A guest's kernel, as introspection reads it: without any effect on what is simulated.

use hypervisor::VmMemory;
use introspection::{KernelMemory, Linux, image_bytes};
use memory::HostMemory;
use std::cell::Cell;
use types::{Gpa, Gva, TranslationContext};

/// Where an Image may be loaded: at a multiple of 2 MiB.
const ALIGNMENT: u64 = 2 << 20;
/// Places that are looked at.
const PLACES: u64 = 64;

/// The memory of a guest in an address space of its kernel.
pub(crate) struct GuestKernel<'m> {
    pub(crate) vm: &'m VmMemory,
    pub(crate) memory: &'m HostMemory,
    pub(crate) context: TranslationContext,
    /// Words that were read.
    pub(crate) words: Cell<u64>,
}

impl KernelMemory for GuestKernel<'_> {
    fn physical(&self, at: Gva) -> Option<Gpa> {
        let found = self.vm.look_up(self.memory, &self.context, at).ok()?;
        Some(Gpa(found.page.0 | at.offset(found.size)))
    }

    fn word(&self, at: Gva) -> Option<u64> {
        self.words.set(self.words.get() + 1);
        self.vm.peek(self.memory, self.physical(at)?)
    }
}

/// The kernel in a guest's memory, as far as it describes itself. What it has in read-only data stays there.
pub(crate) fn kernel(vm: &VmMemory, memory: &HostMemory) -> Option<Linux> {
    let ram = vm.ram();
    let places = (0..PLACES).map(|place| ram.start.wrapping_add(place * ALIGNMENT)).take_while(|at| *at < ram.end);
    let image = { places }.find_map(|at| {
        let mut header = [0; 64];
        read(vm, memory, at, &mut header)?;
        let bytes = image_bytes(&header)?.min(ram.end.0 - at.0);
        let mut image = vec![0; usize::try_from(bytes).ok()?];
        read(vm, memory, at, &mut image).map(|()| image)
    })?;
    Linux::of_image(&image)
}

/// Reads guest physical memory. Pages that have no frame now read as zeroes.
fn read(vm: &VmMemory, memory: &HostMemory, at: Gpa, to: &mut [u8]) -> Option<()> {
    let mut done = 0;
    while done < to.len() {
        let at = at.wrapping_add(done as u64);
        done += match vm.peek_bytes(memory, at, &mut to[done..]) {
            Ok(bytes) => bytes,
            Err(hypervisor::PeekError::NoFrame) => (4096 - (at.0 % 4096) as usize).min(to.len() - done),
            Err(hypervisor::PeekError::NotMemory) => return None,
        };
    }
    Some(())
}
