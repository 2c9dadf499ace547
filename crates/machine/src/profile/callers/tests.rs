use super::*;

const SP: u64 = 0x8000;

/// A program in an address space.
fn user(space: u32) -> Place {
    Place { space: SpaceId(space), privilege: Mode::User, ..Place::default() }
}

fn call(pc: u64, sp: u64) -> Transfer {
    Transfer::Call { pc, return_address: pc + 4, sp }
}

fn ret(target: u64, sp: u64) -> Transfer {
    Transfer::Return { target, sp }
}

/// Harts whose transfers are followed as a ledger does.
struct Harts {
    callers: Callers,
    places: Vec<Place>,
}

impl Harts {
    fn new(count: usize, place: Place) -> Self {
        Self { callers: Callers::new(count), places: vec![place; count] }
    }

    /// Makes a transfer, and goes on in the privilege and space that it leads to.
    fn go(&mut self, hart: usize, transfer: Transfer, next: Place) {
        self.callers.transfer(hart, self.places[hart], &transfer);
        self.places[hart] = next;
    }

    /// Makes transfers that change neither.
    fn run(&mut self, hart: usize, transfers: &[Transfer]) {
        for transfer in transfers {
            let place = self.places[hart];
            self.go(hart, *transfer, place);
        }
    }

    /// The addresses of a hart's callers, from the outermost one on.
    fn stack(&mut self, hart: usize) -> Vec<u64> {
        let innermost = self.callers.of(hart).index();
        let all: Vec<Place> = self.callers.innermost().collect();
        let chain = std::iter::successors(innermost, |&index| all[index].callers.index());
        let mut stack: Vec<u64> = chain.map(|index| all[index].pc).collect();
        stack.reverse();
        stack
    }

    /// Frames that are kept.
    fn frames(&self) -> usize {
        self.callers.frames.len() - self.callers.free.len()
    }

    /// Forgets the stacks that were put aside.
    fn forget(&mut self) {
        for (_, stack) in std::mem::take(&mut self.callers.aside) {
            self.callers.release(stack);
        }
    }
}

#[test]
fn calls_and_returns_are_matched() {
    let mut harts = Harts::new(1, user(1));
    harts.run(0, &[call(0x100, SP), call(0x200, SP - 32)]);
    assert_eq!(harts.stack(0), [0x100, 0x200]);
    harts.run(0, &[ret(0x204, SP - 32)]);
    assert_eq!(harts.stack(0), [0x100]);
    harts.run(0, &[call(0x300, SP - 32), ret(0x304, SP - 32), ret(0x104, SP)]);
    assert_eq!((harts.stack(0), harts.frames()), (vec![], 0));
    // The same path has the same chain.
    let chains = harts.callers.chains.len();
    harts.run(0, &[call(0x100, SP), call(0x200, SP - 32)]);
    assert_eq!((harts.stack(0), harts.callers.chains.len()), (vec![0x100, 0x200], chains));
}

#[test]
fn a_return_past_several_frames_removes_them() {
    let mut harts = Harts::new(1, user(1));
    harts.run(0, &[call(0x100, SP), call(0x200, SP - 32), call(0x300, SP - 64)]);
    harts.run(0, &[ret(0x104, SP)]);
    assert_eq!(harts.stack(0), [0; 0]);
    // `longjmp` to a place that no call has as its return address.
    harts.run(0, &[call(0x100, SP), call(0x200, SP - 32), call(0x300, SP - 64), ret(0x250, SP - 32)]);
    assert_eq!(harts.stack(0), [0x100, 0x200]);
}

#[test]
fn the_kernel_has_the_callers_of_the_program_that_it_works_for() {
    let mut harts = Harts::new(1, user(1));
    let kernel = Place { privilege: Mode::Supervisor, ..user(1) };
    harts.run(0, &[call(0x100, SP)]);
    harts.go(0, Transfer::Trap { pc: 0x150, sp: SP - 32 }, kernel);
    harts.run(0, &[call(0xf100, 0xf_0000)]);
    assert_eq!(harts.stack(0), [0x100, 0x150, 0xf100]);
    // An interrupt of the kernel returns to the kernel.
    harts.run(0, &[Transfer::Trap { pc: 0xf200, sp: 0xe_ff00 }, call(0xf300, 0xe_fe00)]);
    assert_eq!(harts.stack(0), [0x100, 0x150, 0xf100, 0xf200, 0xf300]);
    let back = |to| Transfer::TrapReturn { target: 0xf200, sp: 0xe_ff00, to };
    harts.run(0, &[ret(0xf304, 0xe_fe00), back(Privilege::Supervisor)]);
    assert_eq!(harts.stack(0), [0x100, 0x150, 0xf100]);
    let back = Transfer::TrapReturn { target: 0x154, sp: SP - 32, to: Privilege::User };
    harts.go(0, back, user(1));
    assert_eq!((harts.stack(0), harts.frames()), (vec![0x100], 1));
}

#[test]
fn threads_that_a_kernel_switches_keep_their_stacks_and_may_go_on_with_another_hart() {
    const ONE: u64 = 0x1_0000;
    const OTHER: u64 = 0x9_0000;
    let mut harts = Harts::new(2, Place::default());
    // The first thread calls the switch, which returns on the stack of a new thread.
    harts.run(0, &[call(0x100, ONE), call(0x200, ONE - 32), ret(0x900, OTHER)]);
    assert_eq!(harts.stack(0), [0; 0]);
    // The new thread calls the switch as well, and the first thread goes on.
    harts.run(0, &[call(0x950, OTHER), call(0x200, OTHER - 32), ret(0x204, ONE - 32)]);
    assert_eq!(harts.stack(0), [0x100]);
    // Another hart takes the second thread.
    harts.run(1, &[call(0x700, 0x20_0000), ret(0x204, OTHER - 32)]);
    assert_eq!((harts.stack(0), harts.stack(1)), (vec![0x100], vec![0x950]));
    // Those two, and the one that the other hart left.
    assert_eq!(harts.frames(), 3);
    harts.forget();
    assert_eq!(harts.frames(), 2);
}

#[test]
fn programs_at_the_same_addresses_are_told_apart_by_their_space() {
    let mut harts = Harts::new(1, user(1));
    harts.run(0, &[call(0x100, SP)]);
    let trap = Transfer::Trap { pc: 0x150, sp: SP - 32 };
    let back = Transfer::TrapReturn { target: 0x150, sp: SP - 32, to: Privilege::User };
    let kernel = |space| Place { privilege: Mode::Supervisor, ..user(space) };
    harts.go(0, trap, kernel(2));
    harts.go(0, back, user(2));
    assert_eq!(harts.stack(0), [0; 0], "a new process");
    harts.go(0, trap, kernel(1));
    harts.go(0, back, user(1));
    assert_eq!(harts.stack(0), [0x100]);
}

#[test]
fn a_program_that_goes_on_while_the_kernel_works_for_it_leaves_its_frames_to_the_kernel() {
    let mut harts = Harts::new(2, user(1));
    let kernel = Place { privilege: Mode::Supervisor, ..user(1) };
    harts.run(0, &[call(0x100, SP)]);
    harts.go(0, Transfer::Trap { pc: 0x150, sp: SP - 32 }, kernel);
    harts.run(0, &[call(0xf100, 0xf_0000), call(0xf200, 0xe_ff00)]);
    // Another hart takes the program where it trapped, and leaves the function.
    harts.places[1] = kernel;
    harts.go(1, Transfer::TrapReturn { target: 0x154, sp: SP - 32, to: Privilege::User }, user(1));
    assert_eq!(harts.stack(1), [0x100]);
    harts.run(1, &[ret(0x104, SP)]);
    assert_eq!((harts.stack(1), harts.stack(0)), (vec![], vec![0x100, 0x150, 0xf100, 0xf200]));
    // A return of the kernel does not leave its stack.
    harts.run(0, &[ret(0x104, SP), ret(0xf204, 0xe_ff00)]);
    assert_eq!(harts.stack(0), [0x100, 0x150, 0xf100]);
}

#[test]
fn stacks_that_are_charged_nothing_have_no_chain() {
    let mut harts = Harts::new(1, user(1));
    for pc in 0..1000 {
        harts.run(0, &[call(4 * pc, SP), ret(4 * pc + 4, SP)]);
    }
    assert_eq!((harts.callers.chains.len(), harts.frames()), (0, 0));
}

#[test]
fn a_guest_that_never_returns_keeps_limited_memory() {
    let mut harts = Harts::new(1, user(1));
    for depth in 0..MOST_FRAMES as u64 + 10 {
        let call = call(0x100 + 4 * (depth % 3), (1 << 40) - 16 * depth);
        harts.callers.transfer(0, user(1), &call);
    }
    assert_eq!(harts.frames(), MOST_FRAMES);
    assert_eq!(harts.stack(0).len(), usize::from(LONGEST_CHAIN));
    // It is not found so far out, so that the stack is put aside as one of another thread.
    harts.run(0, &[ret(0x104, 1 << 40)]);
    assert_eq!(harts.frames(), MOST_FRAMES);
    harts.forget();
    assert_eq!(harts.frames(), 0);
    // Each jump is to another stack.
    for jump in 0..MOST_STACKS as u64 + 10 {
        let sp = (jump + 2) << 20;
        harts.run(0, &[ret(0x900, sp), call(0x900, sp)]);
    }
    assert!(harts.callers.aside.len() <= MOST_STACKS);
    harts.forget();
    assert_eq!(harts.frames(), 1);
    for pc in 0..MOST_CHAINS as u64 + 10 {
        harts.run(0, &[call(4 * pc, SP - 64)]);
        harts.callers.of(0);
        harts.run(0, &[ret(4 * pc + 4, SP - 64)]);
    }
    assert_eq!(harts.callers.chains.len(), MOST_CHAINS);
}
