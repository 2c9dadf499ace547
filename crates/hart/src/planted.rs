//! A hole in the engine, for the test of the sandbox (feature `planted`). Checked builds of tests have it, and no build for users. A guest reads where
//! compiled code lies, writes any byte there, and jumps to it. It does what a fault in the emitter would let a guest do: run code of its choice as the
//! process.
//!
//! JUSTIFICATION for unsafe: to break the guest's bounds is what this is for.

use crate::{Bus, CodeCache, hart::Hart};

/// `a0` becomes the address that the offsets of the others count from.
const LEAK: u16 = 0x7e0;
/// Writes the byte in `a1` at offset `a0`.
const WRITE: u16 = 0x7e1;
/// Calls what is at offset `a7` with the address of `a0` to `a6`; `a0` becomes what it returns.
const CALL: u16 = 0x7e2;

/// Where offsets count from, behind what the compiler has put there.
const BASE: usize = 1 << 20;

/// The number of the register `a0`.
const A0: u8 = 10;

type Code = unsafe extern "C" fn(*const [u64; 7]) -> u64;

impl<B: Bus> CodeCache<B> {
    /// Does what marker `number` asks for; whether it is one of these.
    pub(crate) fn attack(&mut self, hart: &mut Hart, number: u16) -> bool {
        let Some(memory) = self.planted_memory() else { return false };
        let argument = |hart: &Hart, index: u8| hart.register(A0 + index);
        match number {
            LEAK => hart.set_register(A0, (memory.start() + BASE) as u64),
            WRITE => memory.write_anywhere(BASE.wrapping_add(argument(hart, 0) as usize), argument(hart, 1) as u8),
            CALL => {
                let at = (memory.start() + BASE).wrapping_add(argument(hart, 7) as usize);
                let arguments: [u64; 7] = core::array::from_fn(|index| argument(hart, index as u8));
                // SAFETY: none. The guest says what this is, and the test is that the kernel stops it.
                let answer = unsafe { std::mem::transmute::<usize, Code>(at)(&raw const arguments) };
                hart.set_register(A0, answer);
            }
            _ => return false,
        }
        true
    }
}
