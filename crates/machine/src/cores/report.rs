//! What a hart reports, as the core of its pCPU is given it.

use super::{Cores, OwnCore, PrefetchPort, pending::Exited};
use crate::caches::Caches;
use hart::report::{BranchWay, DataKind, DataReport, Outstanding, RegisterSet, Report, Serialize};
use timing::{Branch, Index, Load, Operation, Outcome, Registers, Store, Way};
use types::Access;

const fn registers(set: RegisterSet) -> Registers {
    Registers::of_bits(set.0)
}

impl Cores {
    /// See [`hart::Bus::report`].
    #[inline]
    pub(crate) fn report(&mut self, caches: &mut Caches, pcpu: usize, index: Index, report: Report) -> Outstanding {
        self.own[pcpu].report(index, report, &mut PrefetchPort { caches, pcpu })
    }
}

impl OwnCore {
    #[inline]
    fn report(&mut self, index: Index, report: Report, port: &mut PrefetchPort<'_>) -> Outstanding {
        if let Report::Branch { pc, way, reads } = report {
            return self.branch(index, Branch { pc, way: way_of(way), sources: registers(reads) });
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
            Report::Branch { .. } => self.outstanding,
            Report::FetchLine(at) => {
                let (_, found) = port.caches.locate(port.pcpu, at, Access::Execute);
                self.core.fetch_line(index, found);
                self.something()
            }
            Report::Fetched(address) => {
                if self.pending.is_translated() {
                    self.core.fetch_translation(index, types::Gva(address), self.pending.translation());
                    self.pending.clear();
                }
                self.something()
            }
            Report::Serialize(serialize) => {
                self.serialize(index, serialize, port);
                self.something()
            }
        };
        self.outstanding
    }

    #[inline]
    fn look(&mut self, index: Index) -> Outstanding {
        if self.core.is_busy(index) { self.something() } else { Outstanding::Nothing }
    }

    /// Something is outstanding, or may be.
    #[inline]
    fn something(&self) -> Outstanding {
        Outstanding::Something(RegisterSet(self.core.waiting().bits()))
    }

    /// One that is predicted while nothing is outstanding needs no more than the predictor.
    #[inline]
    fn branch(&mut self, index: Index, branch: Branch) -> Outstanding {
        let outcome = self.core.predict(branch.pc, branch.way);
        if outcome == Outcome::Predicted && !self.core.waiting().intersects(branch.sources) {
            return self.outstanding;
        }
        self.core.resolve(index, outcome, branch.sources);
        self.outstanding = match outcome {
            Outcome::Predicted => self.look(index),
            Outcome::Mispredicted => self.something(),
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

    fn data(&mut self, index: Index, data: &DataReport, port: &mut PrefetchPort<'_>) {
        let line = data.at.map(|at| port.caches.locate(port.pcpu, at, data.kind.access()));
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

    fn serialize(&mut self, index: Index, serialize: Serialize, port: &mut PrefetchPort<'_>) {
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

const fn way_of(way: BranchWay) -> Way {
    match way {
        BranchWay::Taken => Way::Taken,
        BranchWay::NotTaken => Way::NotTaken,
    }
}
