//! Routines: code that all blocks share, and which they call or jump to.
//!
//! A program with little repetition waits for the host to fetch its code. What every access and every jump to a register does is therefore in one place. A routine is
//! made with the first batch that needs it, and stays where it is until all code is forgotten.

use super::accesses::{append_hit_routine, append_look, append_watched_routine};
use super::calls::{Calls, Routine};
use super::host::{A, Code, Host};
use super::jumps::append_search;
use super::templates::BusLayout;
use crate::code::translations::Translations;
use cranelift_assembler_x64::inst;

/// The routines that there are, and their addresses.
#[derive(Default)]
pub(crate) struct Routines(Vec<(Routine, usize)>);

impl Routines {
    /// Leads the calls to their routines; appends those that there are not yet to the code, which will lie at `address`.
    pub(super) fn lead(
        &mut self,
        (code, address): (&mut Code, usize),
        mut calls: Calls,
        translations: &Translations,
        bus: &BusLayout,
    ) {
        while let Some((routine, jump)) = calls.pop() {
            let known = self.0.iter().find(|(other, _)| *other == routine).map(|&(_, at)| at);
            let at = known.unwrap_or_else(|| {
                code.align();
                let at = address + code.len();
                append(routine, code, &mut calls, translations, bus);
                self.0.push((routine, at));
                at
            });
            code.lead_from(jump, address, at);
        }
    }

    /// All code is gone.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

fn append(routine: Routine, code: &mut Code, calls: &mut Calls, translations: &Translations, bus: &BusLayout) {
    match routine {
        Routine::Handler(opcode) => {
            inst::movabsq_oi::<Host>::new(A, bus.handler_of(opcode) as usize as u64).encode(code);
            inst::jmpq_m::<Host>::new(A).encode(code);
        }
        Routine::Hit(hit) => append_hit_routine(code, bus, hit),
        Routine::Watched(hit) => append_watched_routine(code, bus, hit),
        Routine::Look(opcode) => append_look(code, calls, bus, opcode),
        Routine::Search => {
            if let Some(fetches) = bus.fetches {
                append_search(code, bus, fetches, translations.jumps());
            }
        }
    }
}
