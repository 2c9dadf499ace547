//! Loads and stores: the hit path of [`memory`](crate::ops::memory) inline, for a bus that says how
//! ([`EntryLayout`](crate::EntryLayout)); a call where it misses. A group of accesses has one comparison for all of them, and a second copy of its code, which
//! makes each by itself, for where that fails.

use super::{
    Call,
    atomic::{atomic_call, read_csr},
    emit::{Emitter, PLAIN},
    load_miss, store_miss,
};
use crate::{
    Bus,
    bus::Limit,
    code::page_slots::PageSlots,
    csr::is_read,
    engine::{
        access_group::{AccessGroup, is_access, width_in_bytes},
        environment::Environment,
        exchange::{Exchange, HIT, Left},
        operands::Operands,
    },
    hart::Hart,
    microop::{MicroOp, accumulator},
    ops::{Class, Opcode},
    report::Reports,
};
use cranelift_codegen::ir::{
    Block, InstBuilder, MemFlagsData, Type, Value,
    condcodes::IntCC,
    types::{F64, I8, I16, I32, I64},
};
use cranelift_frontend::Variable;
use std::mem::offset_of;

impl<B: Bus> Emitter<'_, '_, B> {
    pub(super) fn load(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        let width = width(opcode);
        let address = self.address(op);
        let used = self.f.create_block();
        let at = self.f.append_block_param(used, I64);
        let found = if self.is_modelled() { self.f.create_block() } else { used };
        self.hit(slot, address, Compared { width, stores: false, to_last: 0 }, found);

        let miss: Call = match (width, !self.searches(slot)) {
            (I8, true) => load_miss::<u8, B, false>,
            (I16, true) => load_miss::<u16, B, false>,
            (I32, true) => load_miss::<u32, B, false>,
            (_, true) => load_miss::<u64, B, false>,
            (I8, false) => load_miss::<u8, B, true>,
            (I16, false) => load_miss::<u16, B, true>,
            (I32, false) => load_miss::<u32, B, true>,
            (_, false) => load_miss::<u64, B, true>,
        };
        self.call(miss, slot, address);
        self.come_back(slot, used);

        if self.is_modelled() {
            let (at, entry) = self.begin_found(found);
            self.use_data_line(slot, address, at);
            self.go_to(used, at, entry, slot);
        }
        self.begin(used);
        self.hand_on(slot, used);
        self.move_value((opcode, op), at, 0);
        self.count_accesses(1);
    }

    pub(super) fn store(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        let width = width(opcode);
        let address = self.address(op);
        let used = self.f.create_block();
        let at = self.f.append_block_param(used, I64);
        let found = if self.is_modelled() { self.f.create_block() } else { used };
        self.hit(slot, address, Compared { width, stores: true, to_last: 0 }, found);

        let miss: Call = match (width, !self.searches(slot)) {
            (I8, true) => store_miss::<u8, B, false>,
            (I16, true) => store_miss::<u16, B, false>,
            (I32, true) => store_miss::<u32, B, false>,
            (_, true) => store_miss::<u64, B, false>,
            (I8, false) => store_miss::<u8, B, true>,
            (I16, false) => store_miss::<u16, B, true>,
            (I32, false) => store_miss::<u32, B, true>,
            (_, false) => store_miss::<u64, B, true>,
        };
        let value = if opcode.class() == Class::float_store { self.fs(op.rd) } else { self.x(op.rd) };
        let exchange = offset_of!(Environment<B>, exchange);
        let environment = self.environment();
        self.f.ins().store(PLAIN, value, environment, (exchange + offset_of!(Exchange, value)) as i32);
        self.call(miss, slot, address);
        self.come_back(slot, used);

        if self.is_modelled() {
            let (at, entry) = self.begin_found(found);
            self.use_data_line(slot, address, at);
            self.go_to(used, at, entry, slot);
        }
        self.begin(used);
        self.hand_on(slot, used);
        self.move_value((opcode, op), at, 0);
        self.count_accesses(1);
    }

    /// Loads or stores so many bytes behind `at`.
    pub(super) fn move_value(&mut self, (opcode, op): (Opcode, &MicroOp), at: Value, offset: i32) {
        let width = width(opcode);
        let value = match opcode.class() {
            Class::store => self.x(op.rd),
            Class::float_store => self.fs(op.rd),
            _ => {
                let value = self.f.ins().load(if opcode == Opcode::Fld { F64 } else { width }, PLAIN, at, offset);
                return self.deliver(opcode, op, value);
            }
        };
        let value = match width {
            I64 => value,
            _ if opcode.class() == Class::float_store => {
                let bits = self.f.ins().bitcast(I64, MemFlagsData::new(), value);
                self.f.ins().ireduce(width, bits)
            }
            _ => self.f.ins().ireduce(width, value),
        };
        self.f.ins().store(PLAIN, value, at, offset);
    }

    /// The group that begins with the access in `slot`, if one does. Where lines are modelled, each access uses its own.
    pub(super) fn group_at(&self, slot: usize) -> Option<AccessGroup> {
        let is_counted = B::REPORTS == Reports::None && !self.is_modelled();
        is_counted.then(|| AccessGroup::at(self.code, self.layout, slot, computes)).flatten()
    }

    /// The code of a group, of which the access in `slot` is the first.
    pub(super) fn group(&mut self, group: &AccessGroup, slot: usize) {
        let base = self.x(group.base);
        let address = self.f.ins().iadd_imm_s(base, i64::from(group.first));
        let [found, together, apart, behind] = [(); 4].map(|()| self.f.create_block());
        let [entry, distance] = [(); 2].map(|()| self.f.append_block_param(found, I64));
        let compared = Compared { width: int(group.width), stores: group.stores(), to_last: group.to_last };
        self.find_entry(slot, address, compared, |emitter, entry, distance| {
            emitter.f.ins().jump(found, &[entry.into(), distance.into()]);
        });
        self.f.ins().jump(apart, &[]);

        self.begin(found);
        if group.to_last == 0 {
            self.f.ins().jump(together, &[]);
        } else {
            let last = self.f.ins().iadd_imm_s(distance, i64::from(group.to_last));
            let limit = if group.stores() { Limit::Stores } else { Limit::Loads };
            let hits = self.is_within(entry, last, limit, compared.width);
            self.f.ins().brif(hits, together, &[], apart, &[]);
        }
        self.begin(together);
        let at = self.byte_of(entry, distance);
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
            self.f.set_cold_block(Block::from_u32(label as u32));
        }

        self.begin(behind);
        self.hand_on(group.end, behind);
    }

    /// Goes on behind the group, with the entry that its last access has hit, if a later access needs it.
    fn leave_group(&mut self, group: &AccessGroup, entry: Value, behind: Block) {
        let arguments = [entry.into()];
        let many = usize::from(self.near.is_asked_for(group.end));
        self.f.ins().jump(behind, &arguments[..many]);
    }

    /// Emits for each slot of the group. None of its micro-ops takes more than one.
    fn each(&mut self, group: &AccessGroup, first: usize, mut emit: impl FnMut(&mut Self, usize)) {
        (first..=group.end).for_each(|slot| emit(self, slot));
    }

    /// LR, SC or an AMO.
    pub(super) fn atomic(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        let address = self.x(op.rs1);
        self.call_on_hart(atomic_call::<B>(opcode), (opcode, op), slot, address);
        self.count_accesses(1);
    }

    /// A CSR access, which an interpreter makes unless it only reads. Returns whether it does.
    pub(super) fn read_csr(&mut self, op: &MicroOp, slot: usize) -> bool {
        let reads = is_read(op.imm as u32);
        if reads {
            let nowhere = self.constant(0);
            self.call_on_hart(read_csr::<B>, (Opcode::Csr, op), slot, nowhere);
        }
        reads
    }

    /// Calls what executes the micro-op on the registers in the hart's memory, where those are that it names. Leaves as the function has told, or goes on.
    fn call_on_hart(&mut self, function: Call, (opcode, op): (Opcode, &MicroOp), slot: usize, address: Value) {
        let Operands { read, written } = Operands::of(opcode, op);
        // What is written as well: where the function leaves before, it is what it was.
        for register in read.and(written).integers() {
            let value = self.x(register);
            self.store_hart(value, Hart::x_offset(register));
        }
        self.call(function, slot, address);
        for register in written.integers() {
            let value = self.load_hart(I64, Hart::x_offset(register));
            self.set_x(register, value);
        }
        self.read_outstanding();
        let answer = self.told(offset_of!(Exchange, answer));
        let on = self.f.create_block();
        let done = self.f.ins().icmp_imm_s(IntCC::Equal, answer, HIT as i64);
        self.f.ins().brif(done, on, &[], self.exit_as_told, &[]);
        self.begin(on);
    }

    fn address(&mut self, op: &MicroOp) -> Value {
        let base = self.x(op.rs1);
        self.f.ins().iadd_imm_s(base, i64::from(op.imm))
    }

    /// Goes to `found` with the host's address, and what is handed on, where the access hits an entry; else goes on here, in a cold block.
    fn hit(&mut self, slot: usize, address: Value, compared: Compared, found: Block) {
        self.find_entry(slot, address, compared, |emitter, entry, distance| {
            emitter.go_to_byte(entry, distance, slot, found);
        });
    }

    /// Does what `hits` says, with an entry and the distance from its first address, where the access hits the one that the micro-op hit last, or that at which the
    /// page was found last, and does not store to a page with translated code; else goes on here, in a cold block. For an access near another, that entry is the one
    /// which the other hit, and no further one is looked at.
    pub(super) fn find_entry(
        &mut self,
        slot: usize,
        address: Value,
        compared: Compared,
        hits: impl Fn(&mut Self, Value, Value),
    ) {
        let entry = self.near.entry(slot).unwrap_or_else(|| match self.kept_entry(slot) {
            Some(kept) => self.f.use_var(kept),
            None => self.slot_entry(slot),
        });
        let [hit, elsewhere] = [(); 2].map(|()| self.f.create_block());
        self.f.set_cold_block(elsewhere);
        let distance = self.distance(entry, address);
        let limit = self.layout.first(compared.stores);
        self.compare(entry, distance, (compared.width, limit), [hit, elsewhere]);
        self.begin(hit);
        if limit == Limit::Stores {
            self.avoid_code(entry, distance, compared, elsewhere);
        }
        hits(self, entry, distance);

        self.begin(elsewhere);
        if limit == Limit::PlainStores {
            // A larger page may hold code in other pieces of 4 KiB.
            let [hit, miss] = [(); 2].map(|()| self.f.create_block());
            self.f.set_cold_block(hit);
            self.f.set_cold_block(miss);
            self.compare(entry, distance, (compared.width, Limit::Stores), [hit, miss]);
            self.begin(hit);
            self.avoid_code(entry, distance, compared, miss);
            hits(self, entry, distance);
            self.begin(miss);
        }
        if !self.searches(slot) {
            return;
        }
        let [hit, miss] = [(); 2].map(|()| self.f.create_block());
        self.f.set_cold_block(hit);
        self.f.set_cold_block(miss);
        let predicted = self.slot_of_page(address, self.code.page_slots());
        let entry = self.entry_at(predicted);
        let distance = self.distance(entry, address);
        self.compare(entry, distance, (compared.width, Limit::Loads), [hit, miss]);
        self.begin(hit);
        let op = self.constant(self.code.address(slot) as i64);
        self.f.ins().istore16(PLAIN, predicted, op, offset_of!(MicroOp, rs2) as i32);
        if let Some(kept) = self.kept_entry(slot) {
            self.f.def_var(kept, entry);
        }
        hits(self, entry, distance);
        self.begin(miss);
    }

    /// Whether the access looks where its page was found last before it calls. One near another rarely is in another page than that. A store to another page
    /// mostly misses (`sieve`), and what it does before the miss delays that: the call looks.
    fn searches(&self, slot: usize) -> bool {
        let loads = matches!(self.code.slot(slot).0.class(), Class::load | Class::float_load);
        loads && !self.near.follows(slot)
    }

    /// Bytes from the entry's first address to another, modulo 2^64.
    pub(super) fn distance(&mut self, entry: Value, address: Value) -> Value {
        let base = self.f.ins().load(I64, PLAIN, entry, self.layout.base as i32);
        self.f.ins().isub(address, base)
    }

    /// Goes to the first of the blocks where an access of that type, so many bytes from the entry's first address, is within the limit, else to the second.
    pub(super) fn compare(
        &mut self,
        entry: Value,
        distance: Value,
        (width, limit): (Type, Limit),
        [hit, miss]: [Block; 2],
    ) {
        let bytes = width.bytes();
        if self.layout.aligns(limit, bytes as i8) {
            let low = self.f.ins().band_imm_u(distance, i64::from(bytes) - 1);
            let aligned = self.f.create_block();
            self.f.ins().brif(low, miss, &[], aligned, &[]);
            self.begin(aligned);
        }
        let hits = self.is_within(entry, distance, limit, width);
        self.f.ins().brif(hits, hit, &[], miss, &[]);
    }

    fn is_within(&mut self, entry: Value, distance: Value, limit: Limit, width: Type) -> Value {
        let limit = self.layout.limit(limit, width.bytes() as i8);
        let limit = self.f.ins().load(I64, PLAIN, entry, limit as i32);
        self.f.ins().icmp(IntCC::UnsignedLessThan, distance, limit)
    }

    /// Goes to `code` where a page with translated code has the first byte that is stored to, or the last.
    fn avoid_code(&mut self, entry: Value, distance: Value, compared: Compared, code: Block) {
        let at = self.byte_of(entry, distance);
        let mut holds_code = self.holds_code(at);
        if compared.to_last != 0 {
            let last = self.f.ins().iadd_imm_s(at, i64::from(compared.to_last));
            let last = self.holds_code(last);
            holds_code = self.f.ins().bor(holds_code, last);
        }
        let on = self.f.create_block();
        self.f.ins().brif(holds_code, code, &[], on, &[]);
        self.begin(on);
    }

    /// Where the byte so many bytes from the entry's first address lies.
    pub(super) fn byte_of(&mut self, entry: Value, distance: Value) -> Value {
        let host = self.f.ins().load(I64, PLAIN, entry, self.layout.host as i32);
        self.f.ins().iadd(distance, host)
    }

    /// The access hits the entry: stamps it, and goes to `found`.
    fn go_to_byte(&mut self, entry: Value, distance: Value, slot: usize, found: Block) {
        self.stamp(entry);
        let at = self.byte_of(entry, distance);
        if self.is_modelled() {
            self.f.ins().jump(found, &[at.into(), entry.into()]);
        } else {
            self.go_to(found, at, entry, slot);
        }
    }

    /// Gives the entry the time of an access.
    pub(super) fn stamp(&mut self, entry: Value) {
        let acc = self.f.use_var(self.acc);
        // The upper half of the field is 0 already.
        self.f.ins().istore32(PLAIN, acc, entry, self.layout.stamp as i32);
    }

    /// The predicted slot at which the page of `address` was found last.
    pub(super) fn slot_of_page(&mut self, address: Value, slots: &PageSlots) -> Value {
        let page = self.f.ins().ushr_imm_u(address, 12);
        let index = self.f.ins().band_imm_u(page, PageSlots::MASK as i64);
        let offset = self.f.ins().ishl_imm_u(index, i64::from(PageSlots::SHIFT));
        let slots = self.constant(slots.address() as i64);
        let at = self.f.ins().iadd(slots, offset);
        self.f.ins().uload16(I64, PLAIN, at, 0)
    }

    /// Begins where an access has hit, before its line is used: where the byte lies, and the entry.
    fn begin_found(&mut self, found: Block) -> (Value, Value) {
        let [at, entry] = [(); 2].map(|()| self.f.append_block_param(found, I64));
        self.begin(found);
        (at, entry)
    }

    /// Whether a page with translated code has the byte at `at`.
    fn holds_code(&mut self, at: Value) -> Value {
        let (map, page) = (self.constant(self.code.biased_map() as i64), self.f.ins().ushr_imm_u(at, 12));
        let byte = self.f.ins().iadd(map, page);
        self.f.ins().load(I8, PLAIN, byte, 0)
    }

    /// Goes to `found`; the entry's address is handed on if it is asked for later.
    fn go_to(&mut self, found: Block, at: Value, entry: Value, slot: usize) {
        let arguments = [at.into(), entry.into()];
        let many = 1 + usize::from(self.near.is_asked_for(slot));
        self.f.ins().jump(found, &arguments[..many]);
    }

    /// Takes what is handed on to `found`.
    pub(super) fn hand_on(&mut self, slot: usize, found: Block) {
        if self.near.is_asked_for(slot) {
            let entry = self.f.append_block_param(found, I64);
            self.near.hit(slot, entry);
        }
    }

    /// The variable that holds what [`Self::slot_entry`] is.
    fn kept_entry(&self, slot: usize) -> Option<Variable> {
        self.kept.iter().find(|(access, _)| *access == slot).map(|&(_, variable)| variable)
    }

    /// The entry that the micro-op hit last.
    pub(super) fn slot_entry(&mut self, slot: usize) -> Value {
        let op = self.constant(self.code.address(slot) as i64);
        let predicted = self.f.ins().uload16(I64, PLAIN, op, offset_of!(MicroOp, rs2) as i32);
        self.entry_at(predicted)
    }

    /// The entry at a predicted slot.
    fn entry_at(&mut self, predicted: Value) -> Value {
        let offset = self.f.ins().ishl_imm_u(predicted, i64::from(self.layout.shift));
        self.f.ins().iadd(self.view, offset)
    }

    /// Goes to `found` where a call answered that the access hits, else leaves as it told. What it takes to have all values where they are at
    /// `found` is in a separate block, which is rare as well.
    fn come_back(&mut self, slot: usize, found: Block) {
        let back = self.f.create_block();
        self.f.set_cold_block(back);
        let (answer, at) = (self.told(offset_of!(Exchange, answer)), self.told(offset_of!(Exchange, at)));
        let hit = self.f.ins().icmp_imm_s(IntCC::Equal, answer, HIT as i64);
        self.f.ins().brif(hit, back, &[], self.exit_as_told, &[]);
        self.begin(back);
        self.read_outstanding();
        let entry = self.slot_entry(slot);
        if let Some(kept) = self.kept_entry(slot) {
            self.f.def_var(kept, entry);
        }
        self.go_to(found, at, entry, slot);
    }

    /// The code that leaves the unit as the exchange says.
    pub(super) fn leave_as_told(&mut self) {
        self.f.switch_to_block(self.exit_as_told);
        let left = offset_of!(Exchange, left);
        let (acc, next) = (self.told(left + offset_of!(Left, acc)), self.told(left + offset_of!(Left, next)));
        self.f.def_var(self.acc, acc);
        self.exit(next);
    }

    /// The value in the exchange at `offset`.
    fn told(&mut self, offset: usize) -> Value {
        let environment = self.environment();
        self.f.ins().load(I64, PLAIN, environment, (offset_of!(Environment<B>, exchange) + offset) as i32)
    }

    /// Tells a function that is called next where an access has hit.
    pub(super) fn exchange_at(&mut self, at: Value) {
        let environment = self.environment();
        let offset = offset_of!(Environment<B>, exchange) + offset_of!(Exchange, at);
        self.f.ins().store(PLAIN, at, environment, offset as i32);
    }

    pub(super) fn count_accesses(&mut self, number: i64) {
        let acc = self.f.use_var(self.acc);
        let acc = self.f.ins().iadd_imm_s(acc, number * accumulator::ACCESS as i64);
        self.f.def_var(self.acc, acc);
    }

    /// Puts what was loaded into the register.
    fn deliver(&mut self, opcode: Opcode, op: &MicroOp, value: Value) {
        use Opcode as O;
        let value = match opcode {
            O::Ld => value,
            O::Lb | O::Lh | O::Lw => self.f.ins().sextend(I64, value),
            O::Lbu | O::Lhu | O::Lwu => self.f.ins().uextend(I64, value),
            O::Fld => return self.set_fs(op.rd, value),
            _ => {
                let (low, boxing) = (self.f.ins().uextend(I64, value), self.constant(-1 << 32));
                let bits = self.f.ins().bor(low, boxing);
                let boxed = self.f.ins().bitcast(F64, MemFlagsData::new(), bits);
                return self.set_fs(op.rd, boxed);
            }
        };
        self.set_x(op.rd, value);
    }
}

/// What is compared of an access, or of a group.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    width: Type,
    stores: bool,
    /// Bytes to the last access of a group.
    to_last: i32,
}

/// The type of what is loaded or stored.
fn width(opcode: Opcode) -> Type {
    int(width_in_bytes(opcode))
}

/// The integer of so many bytes.
fn int(bytes: i8) -> Type {
    Type::int_with_byte_size(bytes as u16).expect("an access of one to eight bytes")
}

/// Whether the code of a micro-op only computes.
fn computes(opcode: Opcode) -> bool {
    matches!(opcode.class(), Class::immediate | Class::register) || matches!(opcode, Opcode::Li | Opcode::Auipc)
}
