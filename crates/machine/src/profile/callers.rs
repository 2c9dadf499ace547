//! Who called the code that a guest's harts execute: a shadow call stack for each stack of the guest.
//!
//! A call pushes a frame, and the return to its address with its stack pointer pops it. Guests change stacks: the kernel switches threads inside a call,
//! and returns from it on another stack; an interrupted program goes on where it was interrupted. Such a stack is put aside under the place where
//! it will go on, and found there when a hart, the same or another one, returns to it. A stack that nothing was put aside for begins empty: so does that of
//! a new thread, process or signal handler.
//!
//! What the kernel does for a program has the program's frames as its callers. So a frame may be part of several stacks; it is kept as long as it is part of one.
//!
//! A stack has a number, that of its chain of callers, once something is charged to it. Most stacks that a guest has are charged nothing.

use super::fold::Folds;
use super::site::{ChainId, Mode, Place, SpaceId};
use hart::Transfer;
use std::collections::HashMap;
use types::Privilege;

/// The longest chain of callers. What is called deeper has the same callers.
const LONGEST_CHAIN: u16 = 128;
/// The most chains of a guest. Further ones are those of their callers.
const MOST_CHAINS: usize = 1 << 20;
/// The most frames of a guest. Calls beyond leave none, and what they call has the callers of the call.
const MOST_FRAMES: usize = 1 << 20;
/// The most stacks that are put aside. All are forgotten where one more comes: most are of threads that have ended.
const MOST_STACKS: usize = 1 << 14;
/// The most frames, from the innermost one on, that a return is looked for in: no guest can make each of its returns take long.
const MOST_SEARCHED: usize = 1 << 12;
/// What a return without a frame may move the stack pointer by, in bytes, if it stays on its stack.
const SAME_STACK_BYTES: u64 = 16 << 10;

/// What has made a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    Call,
    /// A trap of the kernel itself.
    Trap,
    /// A trap of a program. It is the outermost frame of the kernel's stack, and those around it are the program's.
    ProgramTrap,
}

/// A stack: the number of its innermost frame; `None` of an empty one.
type StackId = Option<u32>;

/// A call, or trap, that has not returned.
#[derive(Clone, Copy, Debug)]
struct Frame {
    entry: Entry,
    /// Where it returns to, and with which stack pointer.
    target: u64,
    sp: u64,
    /// The instruction that called; its own callers are not filled in.
    caller: Place,
    outer: StackId,
    /// Frames, harts and stacks put aside that have it as their innermost one.
    users: u32,
    /// The chain of callers with it as the innermost, if there is one yet.
    chain: Option<ChainId>,
}

/// Where a stack that was put aside goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Aside {
    /// The address space of a program; `None` of the kernel, which has one for all.
    space: Option<SpaceId>,
    /// The address that it returns to; 0 of a program that has trapped, which may go on behind its `ecall` or at a handler.
    target: u64,
    sp: u64,
}

/// The call stacks of a guest.
#[derive(Debug)]
pub(super) struct Callers {
    /// The stack that each hart executes on.
    harts: Vec<StackId>,
    aside: HashMap<Aside, StackId, Folds>,
    frames: Vec<Frame>,
    free: Vec<u32>,
    /// The innermost caller of each chain, whose own callers are the rest of it; and how long it is.
    chains: Vec<(Place, u16)>,
    ids: HashMap<Place, ChainId, Folds>,
}

impl Callers {
    pub(super) fn new(harts: usize) -> Self {
        Self {
            harts: vec![None; harts],
            aside: HashMap::default(),
            frames: Vec::new(),
            free: Vec::new(),
            chains: Vec::new(),
            ids: HashMap::default(),
        }
    }

    /// The innermost callers of all chains, by number.
    pub(super) fn innermost(&self) -> impl Iterator<Item = Place> {
        self.chains.iter().map(|&(place, _)| place)
    }

    /// The callers of what a hart executes.
    #[inline]
    pub(super) fn of(&mut self, hart: usize) -> ChainId {
        match self.harts[hart] {
            None => ChainId::NONE,
            Some(top) => self.frames[top as usize].chain.unwrap_or_else(|| self.name(top)),
        }
    }

    /// Makes the chain of a frame and those around it.
    #[cold]
    fn name(&mut self, top: u32) -> ChainId {
        let (mut unnamed, mut callers, mut next) = (Vec::new(), ChainId::NONE, Some(top));
        while let Some(frame) = next {
            if let Some(chain) = self.frames[frame as usize].chain {
                callers = chain;
                break;
            }
            unnamed.push(frame);
            next = self.frames[frame as usize].outer;
        }
        for frame in unnamed.into_iter().rev() {
            let caller = Place { callers, ..self.frames[frame as usize].caller };
            callers = self.chain(caller);
            self.frames[frame as usize].chain = Some(callers);
        }
        callers
    }

    /// The chain of a caller with its own callers.
    fn chain(&mut self, caller: Place) -> ChainId {
        if let Some(&id) = self.ids.get(&caller) {
            return id;
        }
        let length = caller.callers.index().map_or(0, |index| self.chains[index].1);
        if length >= LONGEST_CHAIN || self.chains.len() >= MOST_CHAINS {
            return caller.callers;
        }
        let id = ChainId::at(self.chains.len());
        self.chains.push((caller, length + 1));
        self.ids.insert(caller, id);
        id
    }

    /// A hart that is at `place` makes a transfer.
    pub(super) fn transfer(&mut self, hart: usize, place: Place, transfer: &Transfer) {
        match *transfer {
            Transfer::Call { pc, return_address, sp } => {
                self.push(hart, Entry::Call, Place { pc, ..place }, (return_address, sp));
            }
            Transfer::Return { target, sp } => self.returns(hart, place, target, sp),
            Transfer::Trap { pc, sp } => match place.privilege {
                Mode::Supervisor => self.push(hart, Entry::Trap, Place { pc, ..place }, (pc, sp)),
                Mode::User => {
                    let program = self.harts[hart];
                    self.retain(program);
                    self.put_aside(Aside { space: Some(place.space), target: 0, sp }, program);
                    self.push(hart, Entry::ProgramTrap, Place { pc, ..place }, (pc, sp));
                }
            },
            Transfer::TrapReturn { sp, to: Privilege::User, .. } => {
                let program = self.aside.remove(&Aside { space: Some(place.space), target: 0, sp });
                self.switch(hart, program.flatten());
            }
            Transfer::TrapReturn { to: Privilege::Supervisor, .. } => {
                let trap = self.frames_of(hart).find(|frame| frame.entry == Entry::Trap);
                if let Some(trap) = trap {
                    self.pop_to(hart, trap.outer);
                }
            }
        }
    }

    /// The frames of the stack that a hart executes on, the innermost first, as far as returns are looked for; of the kernel, without those of the program
    /// that it works for.
    fn frames_of(&self, hart: usize) -> impl Iterator<Item = Frame> {
        let frame = |number: StackId| number.map(|number| self.frames[number as usize]);
        let frames = std::iter::successors(frame(self.harts[hart]), move |inner| frame(inner.outer));
        frames.take_while(|frame| frame.entry != Entry::ProgramTrap).take(MOST_SEARCHED)
    }

    /// The instruction at `caller` enters what returns to an address with a stack pointer.
    fn push(&mut self, hart: usize, entry: Entry, caller: Place, (target, sp): (u64, u64)) {
        let caller = Place { callers: ChainId::NONE, ..caller };
        let frame = Frame { entry, target, sp, caller, outer: self.harts[hart], users: 1, chain: None };
        let number = match self.free.pop() {
            Some(number) => {
                self.frames[number as usize] = frame;
                number
            }
            None if self.frames.len() < MOST_FRAMES => {
                self.frames.push(frame);
                self.frames.len() as u32 - 1
            }
            None => return,
        };
        self.harts[hart] = Some(number);
    }

    /// A hart returns to an address with a stack pointer.
    fn returns(&mut self, hart: usize, place: Place, target: u64, sp: u64) {
        let space = (place.privilege == Mode::User).then_some(place.space);
        let Some(latest) = self.frames_of(hart).next() else {
            if let Some(stack) = self.aside.remove(&Aside { space, target, sp }) {
                self.switch_and_return(hart, stack);
            }
            return;
        };
        // Frames further out have higher stack pointers. A return past several of them is a jump out of nested calls.
        let returned = |frame: &Frame| (frame.target, frame.sp) == (target, sp);
        let near = self.frames_of(hart).skip(1).take_while(|frame| frame.sp <= sp);
        let frame = std::iter::once(latest).chain(near).find(returned);
        if let Some(frame) = frame {
            self.pop_to(hart, frame.outer);
            return;
        }
        match self.aside.remove(&Aside { space, target, sp }) {
            None if latest.sp.abs_diff(sp) <= SAME_STACK_BYTES => {
                let left = self.frames_of(hart).take_while(|frame| frame.sp < sp).last();
                if let Some(frame) = left {
                    self.pop_to(hart, frame.outer);
                }
            }
            other => {
                let former = self.harts[hart];
                self.retain(former);
                self.put_aside(Aside { space, target: latest.target, sp: latest.sp }, former);
                self.switch_and_return(hart, other.flatten());
            }
        }
    }

    /// A hart goes on with a stack that was put aside inside a call, and returns from that call.
    fn switch_and_return(&mut self, hart: usize, stack: StackId) {
        self.switch(hart, stack);
        if let Some(frame) = stack {
            self.pop_to(hart, self.frames[frame as usize].outer);
        }
    }

    /// A hart goes on with a stack that has it as a user already.
    fn switch(&mut self, hart: usize, stack: StackId) {
        let former = std::mem::replace(&mut self.harts[hart], stack);
        self.release(former);
    }

    /// The frames of a hart's stack inside `outer` are no more.
    fn pop_to(&mut self, hart: usize, outer: StackId) {
        self.retain(outer);
        self.switch(hart, outer);
    }

    /// A stack has one user more.
    fn retain(&mut self, stack: StackId) {
        if let Some(frame) = stack {
            self.frames[frame as usize].users += 1;
        }
    }

    /// A stack has one user less. Frames without a user are free.
    fn release(&mut self, stack: StackId) {
        let mut next = stack;
        while let Some(number) = next {
            let frame = &mut self.frames[number as usize];
            frame.users -= 1;
            next = (frame.users == 0).then_some(frame.outer).flatten();
            if frame.users == 0 {
                self.free.push(number);
            }
        }
    }

    /// Keeps a stack, which has a user for this already, until something returns to it. A former one there is of a thread that has ended.
    fn put_aside(&mut self, at: Aside, stack: StackId) {
        if self.aside.len() >= MOST_STACKS {
            for (_, stack) in std::mem::take(&mut self.aside) {
                self.release(stack);
            }
        }
        if let Some(former) = self.aside.insert(at, stack) {
            self.release(former);
        }
    }
}

#[cfg(test)]
mod tests;
