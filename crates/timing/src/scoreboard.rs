//! The scoreboard: which registers wait for a result, and until when.

use crate::{
    event::{Register, Registers},
    ticks::Ticks,
};

/// When the value of each register is there. A register whose value is there when the instruction that writes it is dispatched is not waited for: its
/// bit is clear, and so are all bits as long as nothing is outstanding.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    waiting: Registers,
    ready: [Ticks; 64],
}

impl Scoreboard {
    pub(crate) fn new() -> Self {
        Self { waiting: Registers::NONE, ready: [Ticks(0); 64] }
    }

    /// Registers that wait for a result, and others that have waited until a short time ago.
    #[inline]
    pub(crate) fn waiting(&self) -> Registers {
        self.waiting
    }

    /// When the values of all `sources` are there, for an instruction that is dispatched at `now`: then, if nothing is waited for.
    #[inline]
    pub(crate) fn ready(&mut self, sources: Registers, now: Ticks) -> Ticks {
        let mut latest = now;
        let mut left = sources.0 & self.waiting.0;
        while left != 0 {
            let register = left.trailing_zeros();
            let ready = self.ready[register as usize];
            if ready <= now {
                self.waiting.0 &= !(1 << register);
            }
            latest = latest.max(ready);
            left &= left - 1;
        }
        latest
    }

    /// A register is written, and its value is there at once.
    #[inline]
    pub(crate) fn clear(&mut self, destination: Option<Register>) {
        if let Some(register) = destination {
            self.waiting.0 &= !register.set().0;
        }
    }

    /// A register is written, and its value is there later.
    #[inline]
    pub(crate) fn wait(&mut self, destination: Option<Register>, ready: Ticks) {
        if let Some(register) = destination {
            self.waiting.0 |= register.set().0;
            self.ready[register.number()] = ready;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_not_waited_for_once_its_value_is_there() {
        let mut scoreboard = Scoreboard::new();
        let (x5, f1) = (Register::x(5), Register::f(1));
        scoreboard.wait(Some(x5), Ticks(10));
        scoreboard.wait(Some(f1), Ticks(20));
        let both = x5.set().and(f1.set());
        assert_eq!((scoreboard.ready(both, Ticks(9)), scoreboard.waiting()), (Ticks(20), both));
        assert_eq!((scoreboard.ready(both, Ticks(10)), scoreboard.waiting()), (Ticks(20), f1.set()));
        assert_eq!((scoreboard.ready(both, Ticks(30)), scoreboard.waiting()), (Ticks(30), Registers::NONE));
    }
}
