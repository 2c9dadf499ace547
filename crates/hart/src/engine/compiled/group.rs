//! Groups of accesses in a unit: one comparison for all of them, and a second copy of their code, which compares each, for where that fails.

use super::emit::{Emitter, PLAIN};
use crate::{
    Bus,
    engine::access_group::{AccessGroup, is_access},
    ops::{Class, Opcode},
    report::Reports,
};
use cranelift_codegen::ir::{Block as Label, InstBuilder, Type, Value, types::I64};

impl<B: Bus> Emitter<'_, '_, B> {
    /// The group that begins with the access in `slot`, if one does. Where lines are modelled, each access uses its own.
    pub(super) fn group_at(&self, slot: usize) -> Option<AccessGroup> {
        let is_counted = B::REPORTS == Reports::None && !self.is_modelled();
        is_counted.then(|| AccessGroup::at(self.code, slot, computes)).flatten()
    }

    /// The code of a group, of which the access in `slot` is the first.
    pub(super) fn group(&mut self, group: &AccessGroup, slot: usize) {
        let base = self.x(group.base);
        let address = self.f.ins().iadd_imm_s(base, i64::from(group.first));
        let [found, together, apart, behind] = [(); 4].map(|()| self.f.create_block());
        let entry = self.f.append_block_param(found, I64);
        let widest = Type::int_with_byte_size(group.width as u16).expect("a width of one to eight bytes");
        self.find_entry(slot, address, (widest, self.tag(group.stores())), |emitter, entry| {
            emitter.f.ins().jump(found, &[entry.into()]);
        });
        self.f.ins().jump(apart, &[]);

        self.begin(found);
        if group.to_last == 0 {
            self.f.ins().jump(together, &[]);
        } else {
            let last = self.f.ins().iadd_imm_s(address, i64::from(group.to_last));
            let changed = self.f.ins().bxor(address, last);
            let page = self.f.ins().band_imm_s(changed, !0xfff);
            self.f.ins().brif(page, apart, &[], together, &[]);
        }
        self.begin(together);
        let addend = self.f.ins().load(I64, PLAIN, entry, self.layout.addend as i32);
        let at = self.f.ins().iadd(address, addend);
        if group.stores() {
            let holds_code = self.holds_code(at);
            let on = self.f.create_block();
            self.f.ins().brif(holds_code, apart, &[], on, &[]);
            self.begin(on);
        }
        self.count_accesses(i64::from(group.accesses()) - 1);
        self.stamp(entry);
        self.count_accesses(1);
        self.each(group, slot, |emitter, slot| {
            let (opcode, op) = emitter.code.slot(slot);
            match is_access(opcode) {
                true => emitter.move_value((opcode, op), at, group.distance(op)),
                false => _ = emitter.micro_op(opcode, op, slot),
            }
        });
        self.leave_group(group, entry, behind);

        let rare = self.f.func.dfg.num_blocks();
        self.begin(apart);
        self.f.set_cold_block(apart);
        let known = self.near.known();
        self.each(group, slot, |emitter, slot| {
            let (opcode, op) = emitter.code.slot(slot);
            emitter.micro_op(opcode, op, slot);
        });
        let entry = self.near.of_access(group.end).unwrap_or(entry);
        self.near.forget(known);
        self.leave_group(group, entry, behind);
        for label in rare..self.f.func.dfg.num_blocks() {
            self.f.set_cold_block(Label::from_u32(label as u32));
        }

        self.begin(behind);
        self.hand_on(group.end, behind);
    }

    /// Goes on behind the group, with the entry that its last access has hit, if it is asked for.
    fn leave_group(&mut self, group: &AccessGroup, entry: Value, behind: Label) {
        let arguments = [entry.into()];
        let many = usize::from(self.near.is_asked_for(group.end));
        self.f.ins().jump(behind, &arguments[..many]);
    }

    /// Emits for each slot of the group. None of its micro-ops takes more than one.
    fn each(&mut self, group: &AccessGroup, first: usize, mut emit: impl FnMut(&mut Self, usize)) {
        (first..=group.end).for_each(|slot| emit(self, slot));
    }
}

/// Whether the code of a micro-op only computes.
fn computes(opcode: Opcode) -> bool {
    matches!(opcode.class(), Class::immediate | Class::register) || matches!(opcode, Opcode::Li | Opcode::Auipc)
}
