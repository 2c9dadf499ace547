//! The compiler's back end.
//!
//! JUSTIFICATION for unsafe: a function that compiled code calls keeps a convention of calls that Rust has no name for.

use super::background::{Background, Function as Compiling, NotCompiled, compile};
use crate::engine::code_memory::{CODE_BYTES, CodeMemory, CodeMemoryError};
use cranelift_codegen::{
    Context,
    ir::{AbiParam, Function, InstBuilder, Signature, types::I64},
    isa::{CallConv, OwnedTargetIsa},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Makes functions of the host, and keeps them.
pub(crate) struct Compiler {
    isa: OwnedTargetIsa,
    functions: FunctionBuilderContext,
    /// Functions whose memory may be used again.
    spare: Vec<Compiling>,
    background: Option<Background>,
    memory: CodeMemory,
    /// Address of the [trampoline](Self::make_trampoline).
    trampoline: usize,
}

/// A function that is not compiled yet.
pub(crate) struct Built(Compiling);

impl Compiler {
    /// `None` where the host is not one that code is compiled for, or gives no memory for it.
    pub(crate) fn new() -> Option<Self> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return None;
        }
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("is_pic", "false"),
            ("unwind_info", "false"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ] {
            flags.set(name, value).ok()?;
        }
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut compiler = Self {
            isa,
            functions: FunctionBuilderContext::new(),
            spare: Vec::new(),
            background: None,
            memory: CodeMemory::new()?,
            trampoline: 0,
        };
        compiler.trampoline = compiler.make_trampoline()?;
        Some(compiler)
    }

    /// The function that `emit` builds with the trampoline's address.
    pub(super) fn build(&mut self, signature: Signature, emit: impl FnOnce(&mut FunctionBuilder, usize)) -> Built {
        let mut context = self.spare.pop().unwrap_or_else(|| Box::new(Context::new()));
        context.clear();
        context.func = Function::with_name_signature(Default::default(), signature);
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.functions);
        emit(&mut builder, self.trampoline);
        builder.seal_all_blocks();
        builder.finalize(self.isa.frontend_config());
        Built(context)
    }

    /// Compiles a function; `None` where that fails or the memory is full.
    pub(crate) fn compile(&mut self, function: Built) -> Option<usize> {
        let compiled = compile(&self.isa, function.0);
        self.keep(compiled)
    }

    /// Compiles a function beside the guest, if the host gives a thread for it; [`take`](Self::take) has the result.
    ///
    /// # Errors
    /// The function, if the host gives no thread.
    pub(crate) fn begin(&mut self, function: Built) -> Result<(), Built> {
        if self.background.is_none() {
            self.background = Background::new(self.isa.clone());
        }
        match &self.background {
            Some(background) => background.begin(function.0).map_err(Built),
            None => Err(function),
        }
    }

    /// Waits for the oldest function that [`begin`](Self::begin) has taken. Its address, or `None` where it could not be compiled or the memory is full.
    pub(crate) fn take(&mut self) -> Option<usize> {
        let compiled = self.background.as_mut()?.take();
        self.keep(compiled)
    }

    /// As [`take`](Self::take), of a function that nothing calls any more.
    pub(crate) fn discard(&mut self) {
        if let Some(Ok(function)) = self.background.as_mut().map(Background::take) {
            self.spare.push(function);
        }
    }

    fn keep(&mut self, compiled: Result<Compiling, NotCompiled>) -> Option<usize> {
        let function = compiled.ok()?;
        // Everything is called by address: nothing is left to be linked.
        let code = function.compiled_code().filter(|code| code.buffer.relocs().is_empty());
        let address = code.and_then(|code| self.memory.append(code.code_buffer()));
        self.spare.push(function);
        address
    }

    /// Whether there is room for a function of the largest size that is expected.
    pub(crate) fn has_room(&self) -> bool {
        self.memory.room() > CODE_BYTES / 16
    }

    /// Forgets all functions, none of which runs.
    ///
    /// # Errors
    /// [`CodeMemoryError`]: the compiler is of no use any more.
    pub(crate) fn clear(&mut self) -> Result<(), CodeMemoryError> {
        self.memory.clear();
        match self.make_trampoline() {
            Some(trampoline) => self.trampoline = trampoline,
            // It was compiled before, and there is room for it.
            None => debug_assert!(self.memory.failure().is_some()),
        }
        self.failure().map_or(Ok(()), Err)
    }

    #[cfg(feature = "planted")]
    pub(crate) fn memory(&mut self) -> &mut CodeMemory {
        &mut self.memory
    }

    /// Why no function may be called any more, if that is so.
    pub(crate) fn failure(&self) -> Option<CodeMemoryError> {
        self.memory.failure()
    }

    /// A function that calls its first argument with the others, and preserves every register, so that code which calls it on its rare paths may
    /// keep values in any.
    fn make_trampoline(&mut self) -> Option<usize> {
        let mut inner = Signature::new(CallConv::SystemV);
        inner.params.extend([AbiParam::new(I64); 5]);
        let trampoline = self.build(trampoline_signature(), |f, _| {
            let entry = f.create_block();
            f.append_block_params_for_function_params(entry);
            f.switch_to_block(entry);
            let parameters = f.block_params(entry).to_vec();
            let inner = f.import_signature(inner);
            f.ins().call_indirect(inner, parameters[0], &parameters[1..]);
            f.ins().return_(&[]);
        });
        self.compile(trampoline)
    }
}

/// The signature of the trampoline: what to call, and its five arguments.
pub(super) fn trampoline_signature() -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend([AbiParam::new(I64); 6]);
    signature
}

/// The trampoline for units that keep nothing in floating-point registers, which need not be preserved then: a miss costs half as much around the bus.
///
/// # Safety
/// Only compiled code calls this, by the convention of [`trampoline_signature`], which on this host passes arguments as System V does.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2", target_os = "linux"))]
#[unsafe(naked)]
unsafe extern "C" fn integer_trampoline() {
    // Eight registers are stored as two vectors: each store of a miss takes a place in the host's store buffer, which is what limits how many
    // misses overlap. Together with the last one, and the return address, the stack is aligned for the call.
    std::arch::naked_asm!(
        "push r11",
        "sub rsp, 64",
        "vmovq xmm0, rax",
        "vpinsrq xmm0, xmm0, rcx, 1",
        "vmovq xmm1, rdx",
        "vpinsrq xmm1, xmm1, rsi, 1",
        "vinserti128 ymm0, ymm0, xmm1, 1",
        "vmovdqu [rsp], ymm0",
        "vmovq xmm2, rdi",
        "vpinsrq xmm2, xmm2, r8, 1",
        "vmovq xmm3, r9",
        "vpinsrq xmm3, xmm3, r10, 1",
        "vinserti128 ymm2, ymm2, xmm3, 1",
        "vmovdqu [rsp + 32], ymm2",
        "vzeroupper",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov rcx, r8",
        "mov r8, r9",
        "call rax",
        "mov rax, [rsp]",
        "mov rcx, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rsi, [rsp + 24]",
        "mov rdi, [rsp + 32]",
        "mov r8, [rsp + 40]",
        "mov r9, [rsp + 48]",
        "mov r10, [rsp + 56]",
        "add rsp, 64",
        "pop r11",
        "ret",
    )
}

/// The address of the trampoline for a unit: of the one given, if it keeps anything in floating-point registers.
pub(super) fn trampoline(general: usize, floats: bool) -> usize {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2", target_os = "linux"))]
    if !floats {
        return integer_trampoline as *const () as usize;
    }
    let _ = floats;
    general
}
