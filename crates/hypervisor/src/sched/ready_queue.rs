//! The ready queue: proper-ready, time-slice-end and out-of-service (section 3.2.2, "Structure of a ready queue").
//!
//! Each subqueue is in order of arrival. A vCPU in a wait state due to spinning is in the proper-ready queue too, and is
//! passed over. When no vCPU in the proper-ready queue can be dispatched, the time-slice-end queue moves into it, and when that is empty,
//! the out-of-service queue. The paper says "empty"; but a queue that holds only waiting vCPUs, whose partners
//! stand in a later subqueue, would never move on.
//!
//! Passing over is no search: who waits is in none of the maps, and comes back to its old position when its wait ends. Moving a
//! subqueue exchanges two maps. So each operation takes time in the logarithm of the queue's length.

use super::VcpuId;
use core::mem;
use std::collections::BTreeMap;

/// A part of the ready queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Subqueue {
    /// Can run.
    ProperReady,
    /// Has consumed a full time slice.
    TimeSliceEnd,
    /// Has consumed the service quantity that its VM's service ratio gives it.
    OutOfService,
}

/// Where one stood who was taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(i64);

/// A place in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    subqueue: Subqueue,
    /// Which filling of that subqueue; of the proper-ready queue, how often it had been filled up.
    filling: u64,
    order: i64,
}

impl Ticket {
    /// What tickets of one subqueue are ordered by.
    #[cfg(test)]
    pub(super) const fn key(&self) -> (u64, i64) {
        (self.filling, self.order)
    }
}

/// The three subqueues of vCPUs that wait for a pCPU.
#[derive(Clone, Debug, Default)]
pub struct ReadyQueue {
    /// Positions in the proper-ready queue from before it was last filled up: of those whose wait ended since, and of those put in front.
    earlier: BTreeMap<(u64, i64), VcpuId>,
    proper: BTreeMap<i64, VcpuId>,
    time_slice_end: BTreeMap<i64, VcpuId>,
    out_of_service: BTreeMap<i64, VcpuId>,
    /// How often the proper-ready queue was filled up.
    refills: u64,
    slice_fillings: u64,
    service_fillings: u64,
    /// The next order at the tail.
    tail: i64,
    /// The last order at the head.
    head: i64,
}

impl ReadyQueue {
    /// Puts `vcpu` at the last position of `subqueue`.
    pub fn enqueue(&mut self, subqueue: Subqueue, vcpu: VcpuId) -> Ticket {
        let ticket = self.last_position(subqueue);
        self.map(ticket.subqueue).insert(ticket.order, vcpu);
        ticket
    }

    /// A last position in the proper-ready queue for one in a wait state due to spinning: the position stays empty until it is released.
    pub fn hold(&mut self) -> Ticket {
        self.last_position(Subqueue::ProperReady)
    }

    /// Puts `vcpu` before everybody else.
    pub fn enqueue_first(&mut self, vcpu: VcpuId) -> Ticket {
        self.head -= 1;
        let ticket = Ticket { subqueue: Subqueue::ProperReady, filling: 0, order: self.head };
        self.earlier.insert((0, ticket.order), vcpu);
        ticket
    }

    /// The wait of the one who held `ticket` is over: it stands at its position.
    pub fn release(&mut self, ticket: Ticket, vcpu: VcpuId) {
        if ticket.filling == self.refills {
            self.proper.insert(ticket.order, vcpu);
        } else {
            self.earlier.insert((ticket.filling, ticket.order), vcpu);
        }
    }

    /// Takes out the one with `ticket`, if it is there.
    pub fn remove(&mut self, ticket: Ticket) {
        let Ticket { subqueue, filling, order } = ticket;
        match (subqueue, self.subqueue_of(ticket)) {
            (Subqueue::ProperReady, _) if self.earlier.remove(&(filling, order)).is_some() => {}
            // Orders are never used twice, so a vCPU at this position is the ticket's.
            (_, now) => {
                self.map(now).remove(&order);
            }
        }
    }

    /// Puts `vcpu`, which came to its turn with `place` and may not run, into the out-of-service queue: before those who came there after they
    /// had been behind it, or it would never be the first of its VM.
    pub fn defer(&mut self, place: Place, vcpu: VcpuId) -> Ticket {
        self.out_of_service.insert(place.0, vcpu);
        Ticket { subqueue: Subqueue::OutOfService, filling: self.service_fillings, order: place.0 }
    }

    /// Takes out the first that can be dispatched, after filling up the proper-ready queue if need be. The caller learns from
    /// [`ReadyQueue::services`] whether that began a new round of service.
    pub fn pop(&mut self) -> Option<(Place, VcpuId)> {
        if let Some(((_, order), vcpu)) = self.earlier.pop_first() {
            return Some((Place(order), vcpu));
        }
        if self.proper.is_empty() {
            let next = if self.time_slice_end.is_empty() {
                self.service_fillings += u64::from(!self.out_of_service.is_empty());
                &mut self.out_of_service
            } else {
                self.slice_fillings += 1;
                &mut self.time_slice_end
            };
            mem::swap(&mut self.proper, next);
            self.refills += 1;
        }
        self.proper.pop_first().map(|(order, vcpu)| (Place(order), vcpu))
    }

    /// Begins a round of service now: who is out of service is proper-ready, before those who came later.
    pub fn begin_service(&mut self) {
        if !self.out_of_service.is_empty() {
            self.service_fillings += 1;
            self.proper.append(&mut self.out_of_service);
        }
    }

    /// How often the out-of-service queue has moved on: each time begins a round of service.
    #[must_use]
    pub const fn services(&self) -> u64 {
        self.service_fillings
    }

    /// Where the one with `ticket` stands now.
    #[must_use]
    pub fn subqueue_of(&self, ticket: Ticket) -> Subqueue {
        let filling = match ticket.subqueue {
            Subqueue::ProperReady => return Subqueue::ProperReady,
            Subqueue::TimeSliceEnd => self.slice_fillings,
            Subqueue::OutOfService => self.service_fillings,
        };
        if ticket.filling == filling { ticket.subqueue } else { Subqueue::ProperReady }
    }

    /// Whether no vCPU can be dispatched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.earlier.is_empty()
            && self.proper.is_empty()
            && self.time_slice_end.is_empty()
            && self.out_of_service.is_empty()
    }

    /// How many can be dispatched.
    #[must_use]
    pub fn len(&self) -> usize {
        self.earlier.len() + self.proper.len() + self.time_slice_end.len() + self.out_of_service.len()
    }

    /// Who can be dispatched, in order, each with its subqueue.
    pub fn iter(&self) -> impl Iterator<Item = (Subqueue, VcpuId)> + '_ {
        let of = |subqueue, map: &'_ BTreeMap<i64, VcpuId>| {
            map.values().map(move |&vcpu| (subqueue, vcpu)).collect::<Vec<_>>()
        };
        let first = self.earlier.values().map(|&vcpu| (Subqueue::ProperReady, vcpu));
        first
            .chain(of(Subqueue::ProperReady, &self.proper))
            .chain(of(Subqueue::TimeSliceEnd, &self.time_slice_end))
            .chain(of(Subqueue::OutOfService, &self.out_of_service))
    }

    fn last_position(&mut self, subqueue: Subqueue) -> Ticket {
        let filling = match subqueue {
            Subqueue::ProperReady => self.refills,
            Subqueue::TimeSliceEnd => self.slice_fillings,
            Subqueue::OutOfService => self.service_fillings,
        };
        self.tail += 1;
        Ticket { subqueue, filling, order: self.tail }
    }

    const fn map(&mut self, subqueue: Subqueue) -> &mut BTreeMap<i64, VcpuId> {
        match subqueue {
            Subqueue::ProperReady => &mut self.proper,
            Subqueue::TimeSliceEnd => &mut self.time_slice_end,
            Subqueue::OutOfService => &mut self.out_of_service,
        }
    }
}

#[cfg(test)]
mod tests;
