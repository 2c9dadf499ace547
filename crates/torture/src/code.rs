//! Assembling: from the tree to bytes. Sizes are known before distances, so that one pass suffices.

use std::fmt::{self, Write as _};

use crate::instruction::Instruction;
use crate::opcode::Class;
use crate::program::{Node, Program};

/// Machine code under construction, and its listing.
#[derive(Debug, Default)]
pub(crate) struct Code {
    halves: Vec<u16>,
    lines: Vec<(usize, usize, String)>,
}

impl Code {
    /// Bytes so far, which is the offset of what comes next.
    pub(crate) fn size(&self) -> usize {
        self.halves.len() * 2
    }

    /// The code as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.halves.iter().flat_map(|half| half.to_le_bytes()).collect()
    }

    /// One line per instruction: offset, bits, assembly.
    pub(crate) fn listing(&self) -> Vec<String> {
        self.lines
            .iter()
            .map(|(at, halves, text)| {
                let mut bits = String::new();
                for half in self.halves[*at..at + halves].iter().rev() {
                    let _ = write!(bits, "{half:04x}");
                }
                format!("{:5x}: {bits:8}  {text}", at * 2)
            })
            .collect()
    }

    /// Appends an instruction.
    pub(crate) fn push(&mut self, instruction: &Instruction) {
        let bits = instruction.encode();
        self.lines.push((self.halves.len(), instruction.opcode.size() / 2, instruction.to_string()));
        self.halves.push(bits as u16);
        if instruction.opcode.size() == 4 {
            self.halves.push((bits >> 16) as u16);
        }
    }

    /// Appends the instruction `name` with these operands.
    pub(crate) fn put(&mut self, name: &str, operands: &[i64]) {
        self.push(&Instruction::new(name, operands));
    }

    /// Appends the two instructions that load the sign-extended 32-bit `value`.
    pub(crate) fn load_word(&mut self, register: u8, value: i32) {
        let low = value << 20 >> 20;
        let high = value.wrapping_sub(low) as u32 >> 12;
        self.put("lui", &[register.into(), high.into()]);
        self.put("addiw", &[register.into(), register.into(), low.into()]);
    }

    /// Appends code that was assembled apart.
    pub(crate) fn append(&mut self, code: Self) {
        let base = self.halves.len();
        self.halves.extend(code.halves);
        self.lines.extend(code.lines.into_iter().map(|(at, size, text)| (base + at, size, text)));
    }

    /// Appends nodes that work on the record at register `base`.
    pub(crate) fn nodes(&mut self, nodes: &[Node], base: u8) {
        for node in nodes {
            self.node(node, base);
        }
    }

    fn node(&mut self, node: &Node, base: u8) {
        let body = node.body().map(|nodes| {
            let mut code = Self::default();
            code.nodes(nodes, base);
            code
        });
        let body = body.unwrap_or_default();
        match node {
            Node::Straight(instructions) => instructions.iter().for_each(|instruction| self.push(instruction)),
            Node::Skip { branch, .. } => {
                self.push_far(branch, branch.opcode.size() + body.size());
                self.append(body);
            }
            Node::SkipIndirect { pointer, jump, .. } => {
                let immediate = if jump.opcode.name == "jalr" { jump.values[2] } else { 0 };
                // The pointer is taken here: past itself, the addition, the jump and the body.
                let distance = (8 + jump.opcode.size() + body.size()) as i64;
                let pointer = i64::from(*pointer);
                self.put("auipc", &[pointer, 0]);
                // An odd immediate leaves the sum odd: the jump must clear the lowest bit.
                self.put("addi", &[pointer, pointer, distance - immediate + (immediate & 1)]);
                self.push(jump);
                self.append(body);
            }
            Node::Loop { counter, count, branch, .. } => {
                let counter = i64::from(*counter);
                self.put("addi", &[counter, 0, (*count).into()]);
                let distance = body.size() + 4;
                self.append(body);
                self.put("addi", &[counter, counter, -1]);
                let mut branch = branch.clone();
                branch.set_immediate(-(distance as i64));
                self.push(&branch);
            }
            Node::Call { call, back, .. } => {
                let over = Instruction::new("jal", &[0, (4 + body.size() + back.opcode.size()) as i64]);
                self.push_far(call, call.opcode.size() + over.opcode.size());
                self.push(&over);
                self.append(body);
                self.push(back);
            }
            Node::Patch { temporary, link, offset, instructions } => {
                let mut patch = Self::default();
                instructions.iter().for_each(|instruction| patch.push(instruction));
                patch.put("c.jr", &[(*link).into()]);
                patch.put("c.nop", &[]);
                let [temporary, link, base] = [*temporary, *link, base].map(i64::from);
                for (index, pair) in patch.halves.chunks(2).enumerate() {
                    let word = pair.iter().rev().fold(0, |word: u32, half| word << 16 | u32::from(*half));
                    self.load_word(temporary as u8, word as i32);
                    self.put("sw", &[temporary, offset + 4 * index as i64, base]);
                }
                self.put("fence.i", &[]);
                self.put("jalr", &[link, base, *offset]);
            }
            Node::Garbage(halves) => {
                self.lines.push((self.halves.len(), halves.len(), "(not code)".into()));
                self.halves.extend(halves);
            }
        }
    }

    /// Appends a branch or jump to `distance` bytes ahead of itself.
    fn push_far(&mut self, branch: &Instruction, distance: usize) {
        let mut branch = branch.clone();
        debug_assert!(matches!(branch.opcode.class, Class::Branch | Class::Jump));
        branch.set_immediate(distance as i64);
        self.push(&branch);
    }
}

impl fmt::Display for Program {
    /// The code as assembly, one instruction a line, preceded by its offset and bits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut code = Code::default();
        code.nodes(&self.nodes, self.base);
        for line in code.listing() {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}
