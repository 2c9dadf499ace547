//! The platform-level interrupt controller (RISC-V PLIC specification 1.0.0), level-triggered, with the [contexts](PlicContexts) that the configuration asks for.
//!
//! A source's gateway forwards one request at a time: a high level sets the pending bit unless the source is in service; a claim
//! moves it from pending into service; a completion ends the service and looks at the level again ("Interrupt Gateways"). A pending
//! bit stays though the level falls. Chapters are cited by name.

/// Sources, counting source 0, which does not exist.
pub(crate) const SOURCES: u32 = 64;

/// Most contexts: one page of threshold and claim registers each, from 0x20_0000 to the end of the window.
pub(crate) const MAX_CONTEXTS: usize = 0x400;

/// Priorities and thresholds are three bits wide, as in QEMU's `virt`; WARL by truncation.
const PRIORITY_MASK: u32 = 7;

const ENABLE_BASE: u64 = 0x2000;
const ENABLE_STRIDE: u64 = 0x80;
const CONTEXT_BASE: u64 = 0x20_0000;
const CONTEXT_STRIDE: u64 = 0x1000;

/// A register, found from its offset ("Memory Map").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Register {
    Priority { source: u32 },
    Pending { word: usize },
    Enable { context: usize, word: usize },
    Threshold { context: usize },
    Claim { context: usize },
}

/// 64 sources, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Sources(u64);

impl Sources {
    fn set(&mut self, source: u32, value: bool) {
        self.0 = (self.0 & !(1 << source)) | (u64::from(value) << source);
    }

    fn has(self, source: u32) -> bool {
        self.0 >> source & 1 != 0
    }

    fn word(self, word: usize) -> u32 {
        (self.0 >> (32 * word)) as u32
    }

    fn set_word(&mut self, word: usize, value: u32) {
        self.0 = (self.0 & !(0xffff_ffff << (32 * word))) | (u64::from(value) << (32 * word));
    }

    /// The sources in ascending order.
    fn iter(self) -> impl Iterator<Item = u32> {
        (0..SOURCES).filter(move |&source| self.has(source))
    }
}

#[derive(Clone, Default, Debug)]
struct Context {
    enabled: Sources,
    threshold: u32,
    /// The external interrupt line to the hart.
    line: bool,
}

/// The registers of a PLIC.
#[derive(Debug)]
pub(crate) struct Plic {
    priority: [u32; SOURCES as usize],
    level: Sources,
    pending: Sources,
    in_service: Sources,
    contexts: Vec<Context>,
    generation: u64,
}

impl Plic {
    /// A PLIC of `contexts` contexts, at most [`MAX_CONTEXTS`].
    pub(crate) fn new(contexts: usize) -> Self {
        Self {
            priority: [0; SOURCES as usize],
            level: Sources::default(),
            pending: Sources::default(),
            in_service: Sources::default(),
            contexts: vec![Context::default(); contexts],
            generation: 0,
        }
    }

    /// The level of `context`'s external interrupt; false for a context that does not exist.
    #[inline]
    pub(crate) fn line(&self, context: usize) -> bool {
        self.contexts.get(context).is_some_and(|context| context.line)
    }

    /// Grows whenever any context's line changes.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Drives the wire of `source`, 1 ≤ `source` < [`SOURCES`].
    pub(crate) fn set_level(&mut self, source: u32, high: bool) {
        if self.level.has(source) == high {
            return;
        }
        self.level.set(source, high);
        self.gateway(source);
        self.update_lines();
    }

    /// Reads the register at `offset`, a multiple of 4; 0 where the map is reserved. A read of a claim register claims.
    pub(crate) fn read(&mut self, offset: u64) -> u32 {
        match self.register(offset) {
            Some(Register::Priority { source }) => self.priority[source as usize],
            Some(Register::Pending { word }) => self.pending.word(word),
            Some(Register::Enable { context, word }) => self.contexts[context].enabled.word(word),
            Some(Register::Threshold { context }) => self.contexts[context].threshold,
            Some(Register::Claim { context }) => self.claim(context),
            None => 0,
        }
    }

    /// Writes the register at `offset`, a multiple of 4; no effect where the map is reserved or the register read-only.
    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        match self.register(offset) {
            Some(Register::Priority { source }) => self.priority[source as usize] = value & PRIORITY_MASK,
            Some(Register::Enable { context, word }) => {
                self.contexts[context].enabled.set_word(word, value);
                self.contexts[context].enabled.set(0, false);
            }
            Some(Register::Threshold { context }) => self.contexts[context].threshold = value & PRIORITY_MASK,
            Some(Register::Claim { context }) => self.complete(context, value),
            Some(Register::Pending { .. }) | None => {}
        }
        self.update_lines();
    }

    fn register(&self, offset: u64) -> Option<Register> {
        const PENDING_BASE: u64 = 0x1000;
        const WORDS: u64 = SOURCES as u64 / 32;
        let register = match offset {
            4..PENDING_BASE => {
                let source = (offset / 4) as u32;
                return (source < SOURCES).then_some(Register::Priority { source });
            }
            PENDING_BASE..ENABLE_BASE => {
                let word = (offset - PENDING_BASE) / 4;
                return (word < WORDS).then_some(Register::Pending { word: word as usize });
            }
            ENABLE_BASE..CONTEXT_BASE => {
                let (context, within) =
                    ((offset - ENABLE_BASE) / ENABLE_STRIDE, (offset - ENABLE_BASE) % ENABLE_STRIDE);
                if within / 4 >= WORDS {
                    return None;
                }
                Register::Enable { context: context as usize, word: (within / 4) as usize }
            }
            CONTEXT_BASE.. => {
                let context = ((offset - CONTEXT_BASE) / CONTEXT_STRIDE) as usize;
                match (offset - CONTEXT_BASE) % CONTEXT_STRIDE {
                    0 => Register::Threshold { context },
                    4 => Register::Claim { context },
                    _ => return None,
                }
            }
            _ => return None,
        };
        let (Register::Enable { context, .. } | Register::Threshold { context } | Register::Claim { context }) =
            register
        else {
            return Some(register);
        };
        (context < self.contexts.len()).then_some(register)
    }

    /// The pending, enabled source of the highest priority; of equal ones the lowest number. Priority 0 never interrupts.
    fn best(&self, context: &Context) -> Option<u32> {
        Sources(self.pending.0 & context.enabled.0)
            .iter()
            .filter(|&source| self.priority[source as usize] > 0)
            .max_by_key(|&source| (self.priority[source as usize], core::cmp::Reverse(source)))
    }

    /// "Interrupt Claim Process": a claim is not affected by the threshold.
    fn claim(&mut self, context: usize) -> u32 {
        let Some(source) = self.best(&self.contexts[context]) else { return 0 };
        self.pending.set(source, false);
        self.in_service.set(source, true);
        self.update_lines();
        source
    }

    /// "Interrupt Completion": the completion of a source that is not enabled for the context is ignored.
    fn complete(&mut self, context: usize, source: u32) {
        if source < SOURCES && self.contexts[context].enabled.has(source) {
            self.in_service.set(source, false);
            self.gateway(source);
        }
    }

    fn gateway(&mut self, source: u32) {
        if self.level.has(source) && !self.in_service.has(source) {
            self.pending.set(source, true);
        }
    }

    fn update_lines(&mut self) {
        for index in 0..self.contexts.len() {
            let context = &self.contexts[index];
            let line = self.best(context).is_some_and(|source| self.priority[source as usize] > context.threshold);
            if line != context.line {
                self.contexts[index].line = line;
                self.generation += 1;
            }
        }
    }
}

mod contexts;
pub(crate) mod state;
#[cfg(test)]
mod tests;

pub use contexts::PlicContexts;
