//! `none`: the spin is spun out, to the end of the time slice. What a hypervisor does that knows nothing of spins.

use super::control::{Answer, Partners, SpinCall, SpinControl};

/// The policy `none`: a spin changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct SpinOut;

impl SpinControl for SpinOut {
    fn spin(&mut self, _: usize, _: SpinCall, _: &Partners) -> Answer {
        Answer::Continue
    }
}
