//! The events of a run that is traced, as they are kept while it goes on.

use crate::results::events::{Event, EventKind, EventPlace, MeasuredRegion, Trace};
use types::Cycles;

/// The most events that are kept of a guest: how many there are is the guest's choice.
const MOST_EVENTS: usize = 1 << 20;
/// The most regions.
const MOST_REGIONS: usize = 1 << 12;

/// The events of a machine.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// By pCPU: who is there, or was last.
    seats: Vec<EventPlace>,
    /// By guest.
    guests: Vec<GuestTrace>,
}

#[derive(Debug, Default)]
struct GuestTrace {
    trace: Trace,
    /// The measured region that has not ended: its first event, and when it began.
    region: Option<(usize, Cycles)>,
    measured: bool,
}

impl Tracer {
    pub(crate) fn new(pcpus: usize, guests: usize) -> Self {
        Self { seats: vec![EventPlace::default(); pcpus], guests: (0..guests).map(|_| GuestTrace::default()).collect() }
    }

    /// A vCPU has a pCPU from now on.
    pub(crate) fn seat(&mut self, place: EventPlace) {
        if let Some(pcpu) = place.pcpu {
            self.seats[pcpu as usize] = place;
        }
    }

    /// The vCPU that has a pCPU, or had it last.
    pub(crate) fn place(&self, pcpu: usize) -> EventPlace {
        self.seats[pcpu]
    }

    /// Something happened.
    pub(crate) fn event(&mut self, place: EventPlace, (at, took): (Cycles, Cycles), what: EventKind) {
        let Trace { events, lost, .. } = &mut self.guests[place.guest as usize].trace;
        if events.len() < MOST_EVENTS {
            events.push(Event { at, took, place, what, measured: false });
        } else {
            *lost += 1;
        }
    }

    /// A guest is measured from now on.
    pub(crate) fn begin_region(&mut self, guest: usize, now: Cycles) {
        let guest = &mut self.guests[guest];
        guest.region = Some((guest.trace.events.len(), now));
    }

    /// A guest is measured no longer. What was measured counts.
    pub(crate) fn end_region(&mut self, guest: usize, now: Cycles) {
        let guest = &mut self.guests[guest];
        let Some((first, from)) = guest.region.take() else { return };
        guest.measured = true;
        guest.trace.events[first..].iter_mut().for_each(|event| event.measured = true);
        if guest.trace.regions.len() < MOST_REGIONS {
            guest.trace.regions.push(MeasuredRegion { from, to: now.max(from) });
        }
    }

    /// What a guest measures does not count.
    pub(crate) fn drop_region(&mut self, guest: usize) {
        self.guests[guest].region = None;
    }

    /// The events of a guest.
    pub(crate) fn trace(&self, guest: usize) -> Trace {
        let guest = &self.guests[guest];
        let mut trace = guest.trace.clone();
        if !guest.measured {
            // The whole run counts.
            trace.events.iter_mut().for_each(|event| event.measured = true);
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tracer: &mut Tracer, at: u64) {
        tracer.event(EventPlace::default(), (Cycles(at), Cycles(1)), EventKind::Scheduling);
    }

    #[test]
    fn events_of_a_region_that_has_ended_are_measured() {
        let mut tracer = Tracer::new(1, 1);
        event(&mut tracer, 1);
        tracer.begin_region(0, Cycles(2));
        event(&mut tracer, 3);
        let measured = |tracer: &Tracer| tracer.trace(0).events.iter().map(|event| event.measured).collect::<Vec<_>>();
        assert_eq!(measured(&tracer), [true, true], "no region has ended");
        tracer.end_region(0, Cycles(4));
        event(&mut tracer, 5);
        tracer.begin_region(0, Cycles(6));
        event(&mut tracer, 7);
        assert_eq!(measured(&tracer), [false, true, false, false]);
        assert_eq!(tracer.trace(0).regions, [MeasuredRegion { from: Cycles(2), to: Cycles(4) }]);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut tracer = Tracer::new(1, 1);
        (0..MOST_EVENTS as u64 + 3).for_each(|at| event(&mut tracer, at));
        let trace = tracer.trace(0);
        assert_eq!((trace.events.len(), trace.lost), (MOST_EVENTS, 3));
    }
}
