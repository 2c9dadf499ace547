//! Which opcodes the programs reached.

use std::collections::BTreeMap;
use std::fmt;

use crate::field::Field;
use crate::instruction::{Instruction, rounding_name};
use crate::opcode::{Class, OPCODES, Opcode};
use crate::program::Node;

/// How often each opcode, with each rounding mode if it has one, was certain to run.
///
/// An instruction that some branch may skip does not count.
#[derive(Clone, Debug)]
pub struct Coverage(BTreeMap<(&'static str, Option<&'static str>), u64>);

impl Default for Coverage {
    fn default() -> Self {
        let reachable = OPCODES.iter().filter(|opcode| opcode.class != Class::SystemCall);
        Self(reachable.flat_map(goals).map(|goal| (goal, 0)).collect())
    }
}

fn goals(opcode: &'static Opcode) -> Vec<(&'static str, Option<&'static str>)> {
    if !opcode.rounds() {
        return vec![(opcode.name, None)];
    }
    [0, 1, 2, 3, 4, 7].into_iter().map(|mode| (opcode.name, Some(rounding_name(mode)))).collect()
}

impl Coverage {
    /// Counts what is certain to run of a program's nodes.
    pub fn count(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Straight(instructions) | Node::Patch { instructions, .. } => {
                    instructions.iter().for_each(|instruction| self.count_one(instruction));
                }
                Node::Skip { branch: jump, .. } | Node::SkipIndirect { jump, .. } => self.count_one(jump),
                Node::Loop { branch, body, .. } => {
                    self.count_one(branch);
                    self.count(body);
                }
                Node::Call { call, back, body } => {
                    self.count_one(call);
                    self.count_one(back);
                    self.count(body);
                }
                Node::Garbage(_) => {}
            }
            if let Node::Patch { .. } = node {
                *self.0.entry(("fence.i", None)).or_default() += 1;
            }
        }
    }

    fn count_one(&mut self, instruction: &Instruction) {
        let rounding = instruction.operands().find(|(field, _)| **field == Field::Rounding);
        let goal = (instruction.opcode.name, rounding.map(|(_, mode)| rounding_name(mode)));
        *self.0.entry(goal).or_default() += 1;
    }

    /// Adds another table to this one.
    pub fn add(&mut self, other: &Self) {
        for (goal, count) in &other.0 {
            *self.0.entry(*goal).or_default() += count;
        }
    }

    /// The opcodes, and opcodes with rounding modes, that were never reached.
    pub fn missed(&self) -> Vec<String> {
        self.0.iter().filter(|(_, count)| **count == 0).map(|(goal, _)| describe(*goal)).collect()
    }

    /// How many entries there are to reach.
    pub fn goals(&self) -> usize {
        self.0.len()
    }
}

fn describe((name, rounding): (&str, Option<&str>)) -> String {
    rounding.map_or_else(|| name.to_owned(), |rounding| format!("{name} {rounding}"))
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (goal, count) in &self.0 {
            writeln!(f, "{count:10}  {}", describe(*goal))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight(name: &str) -> Node {
        Node::Straight(vec![Instruction::new(name, &[1, 2, 3])])
    }

    #[test]
    fn what_a_branch_may_skip_does_not_count() {
        let mut coverage = Coverage::default();
        let all = coverage.missed().len();
        assert_eq!(all, coverage.goals());
        let branch = Instruction::new("beq", &[1, 2, 0]);
        let back = Instruction::new("bne", &[8, 0, 0]);
        coverage.count(&[
            Node::Skip { branch, body: vec![straight("add")] },
            Node::Loop { counter: 8, count: 1, branch: back, body: vec![straight("sub")] },
        ]);
        let missed = coverage.missed();
        assert!(missed.iter().any(|name| name == "add"));
        assert_eq!(missed.len(), all - 3, "beq, bne and sub");
    }

    #[test]
    fn every_rounding_mode_is_a_goal() {
        let missed = Coverage::default().missed();
        let modes: Vec<_> = missed.iter().filter(|name| name.starts_with("fadd.s ")).map(String::as_str).collect();
        assert_eq!(modes, ["fadd.s dyn", "fadd.s rdn", "fadd.s rmm", "fadd.s rne", "fadd.s rtz", "fadd.s rup"]);
        assert!(!missed.iter().any(|name| name == "ecall"));
    }
}
