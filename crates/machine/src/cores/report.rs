//! What a hart reports, as the core of its pCPU is given it.

use super::{Cores, GuestPages, OwnCore, PrefetchPort, pending::Exited};
use hart::report::{
    BranchOutcome, BranchWay, DataKind, DataPlace, DataReport, Outstanding, RegisterSet, Report, Serialize,
};
use timing::{Hit, Index, Load, Operation, Outcome, Registers, Store, Way};
use types::{Access, Gva};

/// Reports from one question whether the core is idle to the next.
const LOOK_EVERY: u32 = 4;

const fn registers(set: RegisterSet) -> Registers {
    Registers::of_bits(set.0)
}

impl Cores {
    /// See [`hart::Bus::report`].
    #[inline(always)]
    pub(crate) fn report(
        &mut self,
        mut port: PrefetchPort<'_, impl GuestPages>,
        index: Index,
        report: Report,
    ) -> Outstanding {
        self.own[port.pcpu].report(index, report, &mut port)
    }
}

impl OwnCore {
    #[inline(always)]
    fn report(&mut self, index: Index, report: Report, port: &mut PrefetchPort<'_, impl GuestPages>) -> Outstanding {
        if let Report::Branch { pc, way, reads } = report {
            let outcome = self.core.predict(pc, way_of(way));
            return self.branch(index, outcome, registers(reads));
        }
        if let Report::Resolved { outcome, reads } = report {
            return self.branch(index, outcome_of(outcome), registers(reads));
        }
        self.catch_up(index);
        // Where more may come before the instruction is dispatched, the core is not asked yet.
        self.outstanding = match report {
            Report::Operation { reads, writes } => {
                let (destination, sources) = (registers(writes).first(), registers(reads));
                self.core.operation(index, Operation { destination, sources });
                self.look(index)
            }
            Report::Data(data) => {
                self.data(index, &data, port);
                self.look(index)
            }
            Report::Branch { .. } | Report::Resolved { .. } => self.outstanding,
            Report::FetchLine(at) => {
                let (_, found) = port.caches.locate(port.pcpu, at, Access::Execute);
                self.core.fetch_line(index, found);
                self.something(index)
            }
            Report::Fetched(address) => {
                if self.pending.is_translated() {
                    self.core.fetch_translation(index, Gva(address), self.pending.translation());
                    self.pending.clear();
                }
                self.something(index)
            }
            Report::Serialize(serialize) => {
                self.serialize(index, serialize, port);
                self.something(index)
            }
        };
        self.outstanding
    }

    /// What is outstanding. One report in a few checks whether the core is idle again: reporting more than is needed changes nothing.
    #[inline]
    fn look(&mut self, index: Index) -> Outstanding {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOK_EVERY) && !self.core.is_busy(index) {
            Outstanding::NOTHING
        } else {
            self.something(index)
        }
    }

    /// Something is outstanding, or may be, behind the instruction at `index`.
    #[inline]
    fn something(&self, index: Index) -> Outstanding {
        Outstanding::something(RegisterSet(self.core.waiting().bits()), self.core.walks(index))
    }

    /// One that is predicted while nothing is outstanding needs no more than the predictor.
    #[inline]
    fn branch(&mut self, index: Index, outcome: Outcome, sources: Registers) -> Outstanding {
        if outcome == Outcome::Predicted && !self.core.waiting().intersects(sources) {
            return self.outstanding;
        }
        self.core.resolve(index, outcome, sources);
        self.outstanding = match outcome {
            Outcome::Predicted => self.look(index),
            Outcome::Mispredicted => self.something(index),
        };
        self.outstanding
    }

    /// What has come before the instruction and was not reported by itself.
    #[inline]
    fn catch_up(&mut self, index: Index) {
        match self.pending.take_exit() {
            Exited::No => {}
            Exited::Yes => self.core.serialize(index, timing::Serialize::Stores),
        }
        if let Some(found) = self.pending.take_fetch() {
            self.core.fetch_line(index, found);
        }
    }

    /// An access. One that changes nothing in caches and TLBs, as most of a busy core do, needs no more than the core.
    #[inline]
    fn data(&mut self, index: Index, data: &DataReport, port: &mut PrefetchPort<'_, impl GuestPages>) {
        let (address_of, stores) = (registers(data.address_of), registers(data.stores));
        if let DataPlace::LatestLine(at) = data.place
            && self.pending.is_empty()
        {
            let hit = Hit { address: Gva(data.address), line: port.caches.line_at(at) };
            match data.kind {
                DataKind::Load => {
                    let writes = registers(data.writes);
                    if self.core.load_matters(index, hit, address_of.and(writes)) {
                        self.core.load_hit(index, hit, address_of, writes.first());
                    }
                    return;
                }
                DataKind::Store => return self.core.store_hit(index, hit, address_of, stores),
                DataKind::Atomic => {}
            }
        }
        self.miss(index, data, port);
    }

    #[inline(never)]
    fn miss(&mut self, index: Index, data: &DataReport, port: &mut PrefetchPort<'_, impl GuestPages>) {
        let line = match data.place {
            DataPlace::LatestLine(at) | DataPlace::Line(at) => {
                Some(port.caches.locate(port.pcpu, at, data.kind.access()))
            }
            DataPlace::Completed => None,
        };
        let access = self.pending.access(data.address, line);
        let (destination, address_of) = (registers(data.writes).first(), registers(data.address_of));
        let stores = registers(data.stores);
        match data.kind {
            DataKind::Load => self.core.load(index, Load { destination, address_of, access }, port),
            DataKind::Store => self.core.store(index, Store { data: stores, address_of, access }, port),
            DataKind::Atomic => self.core.atomic(index, Load { destination, address_of, access }, stores, port),
        }
        self.pending.clear();
    }

    fn serialize(&mut self, index: Index, serialize: Serialize, port: &mut PrefetchPort<'_, impl GuestPages>) {
        if self.pending.is_translated() {
            // A walk that ended in a fault: the trap waits for it.
            let access = self.pending.access(0, None);
            let load = Load { destination: None, address_of: Registers::NONE, access };
            self.core.load(index, load, port);
            self.pending.clear();
        }
        self.core.serialize(
            index,
            match serialize {
                Serialize::Csr => timing::Serialize::Window,
                Serialize::Fence => timing::Serialize::Stores,
                Serialize::Trap => timing::Serialize::Trap,
            },
        );
    }
}

const fn outcome_of(outcome: BranchOutcome) -> Outcome {
    match outcome {
        BranchOutcome::Predicted => Outcome::Predicted,
        BranchOutcome::Mispredicted => Outcome::Mispredicted,
    }
}

const fn way_of(way: BranchWay) -> Way {
    match way {
        BranchWay::Taken => Way::Taken,
        BranchWay::NotTaken => Way::NotTaken,
    }
}
