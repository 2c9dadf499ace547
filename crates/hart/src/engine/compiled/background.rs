//! Compiling beside the guest: a thread of the host that makes code of functions, in the order in which it gets them.

use cranelift_codegen::{Context, control::ControlPlane, isa::OwnedTargetIsa};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// A function, which holds its code once it is compiled.
pub(super) type Function = Box<Context>;

/// A function could not be compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotCompiled;

/// Makes code of a function.
pub(super) fn compile(isa: &OwnedTargetIsa, mut function: Function) -> Result<Function, NotCompiled> {
    match function.compile(&**isa, &mut ControlPlane::default()) {
        Ok(_) => Ok(function),
        Err(_) => Err(NotCompiled),
    }
}

/// The thread. When this value is dropped, it ends behind the function that it compiles.
pub(super) struct Background {
    functions: Sender<Function>,
    compiled: Receiver<Result<Function, NotCompiled>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// `None` where the host gives no further thread.
    pub(super) fn new(isa: OwnedTargetIsa) -> Option<Self> {
        let (functions, waiting) = channel();
        let (done, compiled) = channel();
        let work = move || {
            for function in waiting {
                if done.send(compile(&isa, function)).is_err() {
                    return;
                }
            }
        };
        let thread = Builder::new().name("compiler".to_owned()).spawn(work).ok()?;
        Some(Self { functions, compiled, thread: Some(thread) })
    }

    /// Hands a function over.
    pub(super) fn begin(&self, function: Function) -> Result<(), Function> {
        self.functions.send(function).map_err(|refused| refused.0)
    }

    /// Waits for the oldest function that was handed over and not yet taken.
    ///
    /// # Panics
    /// As the compiler did.
    pub(super) fn take(&mut self) -> Result<Function, NotCompiled> {
        self.compiled.recv().unwrap_or_else(|_| {
            // The thread ends before this value does only by a panic.
            let ended = self.thread.take().map(JoinHandle::join);
            match ended {
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                _ => Err(NotCompiled),
            }
        })
    }
}
