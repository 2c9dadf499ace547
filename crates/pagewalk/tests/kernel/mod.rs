//! A kernel that a test writes instruction by instruction.
#![allow(dead_code, reason = "each test binary uses its part")]

/// RV64I instructions, from the first on.
#[derive(Default)]
pub(crate) struct Kernel {
    code: Vec<u32>,
}

impl Kernel {
    /// `register` becomes `value`: `lui` and `addiw`, or `addi` alone.
    pub(crate) fn set(&mut self, register: u32, value: i32) -> &mut Self {
        let low = value << 20 >> 20;
        if low == value {
            return self.add(register, 0, value);
        }
        self.code.push((value.wrapping_sub(low) as u32 & 0xffff_f000) | register << 7 | 0x37);
        self.code.push((low as u32) << 20 | register << 15 | register << 7 | 0x1b);
        self
    }

    /// `to` becomes `from` plus a number of 12 bits.
    pub(crate) fn add(&mut self, to: u32, from: u32, number: i32) -> &mut Self {
        self.code.push((number as u32) << 20 | from << 15 | to << 7 | 0x13);
        self
    }

    /// Keeps register `from` in `to`.
    pub(crate) fn keep(&mut self, to: u32, from: u32) -> &mut Self {
        self.add(to, from, 0)
    }

    /// Gives `register` back what was kept, unless that is what was just set.
    pub(crate) fn restore_unless(&mut self, set: u32, register: u32, kept: u32) -> &mut Self {
        if set == register { self } else { self.add(register, kept, 0) }
    }

    /// The hint that Pagewalk reads as a marker.
    pub(crate) fn marker(&mut self, number: u32) -> &mut Self {
        self.code.push(number << 20 | 0x2013);
        self
    }

    /// Prints `text` on the UART.
    pub(crate) fn print(&mut self, text: &str) -> &mut Self {
        const UART: i32 = 0x1000_0000;
        self.set(6, UART);
        for byte in text.bytes() {
            // sb t0, 0(t1).
            self.set(5, byte.into()).code.push(5 << 20 | 6 << 15 | 0x23);
        }
        self
    }

    /// Ends the run with `status`.
    pub(crate) fn end(&mut self, status: u8) -> &mut Self {
        self.marker(0x100 + u32::from(status))
    }

    /// Loops for ever.
    pub(crate) fn spin(&mut self) -> &mut Self {
        // jal x0, 0.
        self.code.push(0x6f);
        self
    }

    /// Stores something to every page of `bytes` bytes of RAM from `offset` on.
    pub(crate) fn fill(&mut self, offset: i32, bytes: i32) -> &mut Self {
        // sb t0, 0(t1).
        self.set(5, 1).each_page(offset, bytes, 5 << 20 | 6 << 15 | 0x23)
    }

    /// Reads a byte of every page of `bytes` bytes of RAM from `offset` on, again and again.
    pub(crate) fn read_for_ever(&mut self, offset: i32, bytes: i32) -> &mut Self {
        let start = self.code.len();
        // lbu t0, 0(t1).
        self.each_page(offset, bytes, 6 << 15 | 4 << 12 | 5 << 7 | 0x03);
        let back = (start as i32 - self.code.len() as i32) * 4;
        let field = |from: u32, bits: u32| (back as u32 >> from) & ((1 << bits) - 1);
        self.code.push(field(20, 1) << 31 | field(1, 10) << 21 | field(11, 1) << 20 | field(12, 8) << 12 | 0x6f);
        self
    }

    /// Does `access` with the address of each page in t1. RAM begins at 1 << 31.
    fn each_page(&mut self, offset: i32, bytes: i32, access: u32) -> &mut Self {
        // t1 = RAM + offset; t2 = its end; t3 = the step.
        self.set(7, 1).code.push(31 << 20 | 7 << 15 | 1 << 12 | 7 << 7 | 0x13);
        self.set(28, offset).code.push(28 << 20 | 7 << 15 | 6 << 7 | 0x33);
        self.set(28, bytes).code.push(28 << 20 | 6 << 15 | 7 << 7 | 0x33);
        self.set(28, 4096);
        self.code.extend([access, 28 << 20 | 6 << 15 | 6 << 7 | 0x33]);
        // bne t1, t2, -8.
        self.code.push(0xfe73_1ce3);
        self
    }

    /// Ends the run with status 0 if `a0` is not negative, and else with its negative: `a0` is what a system call of the host returned.
    pub(crate) fn end_with_error_number(&mut self) {
        const ERRORS: i32 = 64;
        // bge a0, x0: over the rest.
        let branch = |code: &mut Vec<u32>, register: u32, function: u32, offset: u32| {
            let (high, low) = ((offset >> 5 & 0x3f) << 25, (offset >> 1 & 0xf) << 8);
            code.push(
                (offset >> 12 & 1) << 31
                    | high
                    | register << 15
                    | function << 12
                    | low
                    | (offset >> 11 & 1) << 7
                    | 0x63,
            );
        };
        branch(&mut self.code, 10, 0b101, 4 + 12 * ERRORS as u32);
        for error in 1..=ERRORS {
            // If a0 is -error, the run ends: addi t0, a0, error; bne t0, x0, over; marker.
            self.add(5, 10, error);
            branch(&mut self.code, 5, 0b001, 8);
            self.marker(0x100 + error as u32);
        }
        self.marker(0x100);
    }

    /// The kernel as an ELF file that is loaded where RAM begins.
    pub(crate) fn elf(&self) -> Vec<u8> {
        const BASE: u64 = 0x8000_0000;
        const HEADERS: u64 = 64 + 56;
        let code: Vec<u8> = self.code.iter().flat_map(|instruction| instruction.to_le_bytes()).collect();
        // ELF64, little-endian; an executable for RISC-V of version 1.
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xf3\0\x01\0\0\0".to_vec();
        file.extend([BASE, 64, 0].iter().flat_map(|field| field.to_le_bytes()));
        file.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
        // One segment: PT_LOAD, to be read, written and executed.
        file.extend([1u32, 7].iter().flat_map(|field| field.to_le_bytes()));
        let length = code.len() as u64;
        file.extend([HEADERS, BASE, BASE, length, length, 4].iter().flat_map(|field: &u64| field.to_le_bytes()));
        file.extend(code);
        file
    }
}
