//! `yield`: the spinning vCPU goes to the tail of the proper-ready queue, wherever its partners are.
//!
//! It keeps what is left of its time slice, so that one that yields for ever still comes to the end of it, and those in the
//! time-slice-end queue to their turn.

use super::control::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::ready_queue::Subqueue;

/// The policy `yield`.
#[derive(Clone, Copy, Debug)]
pub struct Yield;

impl SpinControl for Yield {
    fn spin(&mut self, _: usize, _: SpinCall, _: &Partners) -> Answer {
        Answer::Requeue(Subqueue::ProperReady)
    }
}
