//! What each operation does, and the one table that lists them all.
//!
//! [`operations!`] hands the table to a macro: the opcode enumeration, the threaded engine's handlers and the matching
//! engine's arms are all made from it, so an operation is added by one line here and its meaning in one of the modules below.

pub(crate) mod alu;
pub(crate) mod atomic;
pub(crate) mod float;
pub(crate) mod memory;

macro_rules! operations {
    ($callback:ident) => {
        $callback! {
            // rd = f(rs1, imm)
            immediate {
                Addi: add, Slti: slt, Sltiu: sltu, Xori: xor, Ori: or, Andi: and, Slli: sll, Srli: srl, Srai: sra,
                Addiw: addw, Slliw: sllw, Srliw: srlw, Sraiw: sraw,
            }
            // rd = f(rs1, rs2)
            register {
                Add: add, Sub: sub, Sll: sll, Slt: slt, Sltu: sltu, Xor: xor, Srl: srl, Sra: sra, Or: or, And: and,
                Addw: addw, Subw: subw, Sllw: sllw, Srlw: srlw, Sraw: sraw,
                Mul: mul, Mulh: mulh, Mulhsu: mulhsu, Mulhu: mulhu, Div: div, Divu: divu, Rem: rem, Remu: remu,
                Mulw: mulw, Divw: divw, Divuw: divuw, Remw: remw, Remuw: remuw,
            }
            // rd = zero- or sign-extended memory
            load {
                Lb: i8, Lh: i16, Lw: i32, Ld: i64, Lbu: u8, Lhu: u16, Lwu: u32,
            }
            // memory = rs2
            store {
                Sb: i8, Sh: i16, Sw: i32, Sd: i64,
            }
            // f[rd] = NaN-boxed memory; memory = f[rs2]
            float_load {
                Flw: i32, Fld: i64,
            }
            float_store {
                Fsw: i32, Fsd: i64,
            }
            // if f(rs1, rs2) go to the target
            branch {
                Beq: eq, Bne: ne, Blt: lt, Bge: ge, Bltu: ltu, Bgeu: geu,
            }
            load_reserved {
                LrW: i32, LrD: i64,
            }
            store_conditional {
                ScW: i32, ScD: i64,
            }
            // rd = memory, memory = f(memory, rs2)
            atomic {
                AmoSwapW: i32 swap, AmoAddW: i32 add, AmoXorW: i32 xor, AmoAndW: i32 and, AmoOrW: i32 or,
                AmoMinW: i32 min, AmoMaxW: i32 max, AmoMinuW: u32 min, AmoMaxuW: u32 max,
                AmoSwapD: i64 swap, AmoAddD: i64 add, AmoXorD: i64 xor, AmoAndD: i64 and, AmoOrD: i64 or,
                AmoMinD: i64 min, AmoMaxD: i64 max, AmoMinuD: u64 min, AmoMaxuD: u64 max,
            }
            // any computation on x, f and fcsr that cannot trap once the floating-point gate is passed
            float {
                FaddS: fadd_s, FsubS: fsub_s, FmulS: fmul_s, FdivS: fdiv_s, FsqrtS: fsqrt_s,
                FmaddS: fmadd_s, FmsubS: fmsub_s, FnmsubS: fnmsub_s, FnmaddS: fnmadd_s,
                FsgnjS: fsgnj_s, FsgnjnS: fsgnjn_s, FsgnjxS: fsgnjx_s, FminS: fmin_s, FmaxS: fmax_s,
                FeqS: feq_s, FltS: flt_s, FleS: fle_s, FclassS: fclass_s,
                FcvtWS: fcvt_w_s, FcvtWuS: fcvt_wu_s, FcvtLS: fcvt_l_s, FcvtLuS: fcvt_lu_s,
                FcvtSW: fcvt_s_w, FcvtSWu: fcvt_s_wu, FcvtSL: fcvt_s_l, FcvtSLu: fcvt_s_lu,
                FmvXW: fmv_x_w, FmvWX: fmv_w_x,
                FaddD: fadd_d, FsubD: fsub_d, FmulD: fmul_d, FdivD: fdiv_d, FsqrtD: fsqrt_d,
                FmaddD: fmadd_d, FmsubD: fmsub_d, FnmsubD: fnmsub_d, FnmaddD: fnmadd_d,
                FsgnjD: fsgnj_d, FsgnjnD: fsgnjn_d, FsgnjxD: fsgnjx_d, FminD: fmin_d, FmaxD: fmax_d,
                FeqD: feq_d, FltD: flt_d, FleD: fle_d, FclassD: fclass_d,
                FcvtWD: fcvt_w_d, FcvtWuD: fcvt_wu_d, FcvtLD: fcvt_l_d, FcvtLuD: fcvt_lu_d,
                FcvtDW: fcvt_d_w, FcvtDWu: fcvt_d_wu, FcvtDL: fcvt_d_l, FcvtDLu: fcvt_d_lu,
                FmvXD: fmv_x_d, FmvDX: fmv_d_x, FcvtSD: fcvt_s_d, FcvtDS: fcvt_d_s,
            }
            // those with a handler of their own
            single {
                // rd = imm (lui, and addi from x0)
                Li,
                // rd = address of this page + imm
                Auipc,
                // no effect: fence, and every HINT
                Nop,
                // jump and link
                Jal, Jalr,
                // the same where compressed instructions are off and the target must be checked
                JalrAligned,
                // a direct jump whose target is misaligned while compressed instructions are off
                MisalignedJump,
                // a CSR access: executed in place where it changes nothing that blocks rely on, else as `System`
                Csr,
                // what needs the run loop: calls, fences, waits, illegal instructions
                System,
                // first micro-op of a block with floating point: the unit must be on and the rounding mode valid
                FloatGate,
                // the block goes on elsewhere
                Next,
                // behind a link: finds the target
                Resolve,
                // execution comes to another line of instructions (only where caches are modelled)
                FetchLine,
                // first micro-op of a block whose source has changed
                Stale,
                // an instruction that straddles two pages: the run loop steps over it
                Straddle,
                // before the first micro-op of a compiled block: goes on in host code
                Compiled,
                // first micro-op of a block that has been translated again elsewhere
                Moved,
            }
        }
    };
}
pub(crate) use operations;

macro_rules! define_opcode {
    ($($class:ident { $($name:ident $(: $a:ident $($b:ident)?)?),* $(,)? })*) => {
        /// Every operation of a micro-op.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "named after the instructions; the rest are explained in the table")]
        pub(crate) enum Opcode {
            $($($name,)*)*
        }

        impl Opcode {
            /// The class that the operation is listed under.
            pub(crate) const fn class(self) -> Class {
                match self {
                    $($(Self::$name => Class::$class,)*)*
                }
            }
        }
    };
}
operations!(define_opcode);

/// The classes of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(non_camel_case_types, reason = "the names of the table's rows")]
pub(crate) enum Class {
    immediate,
    register,
    load,
    store,
    float_load,
    float_store,
    branch,
    load_reserved,
    store_conditional,
    atomic,
    float,
    single,
}

impl Opcode {
    /// Whether the operation writes memory.
    pub(crate) const fn is_store(self) -> bool {
        matches!(self.class(), Class::store | Class::float_store | Class::store_conditional | Class::atomic)
    }

    /// Whether the operation needs the floating-point unit.
    pub(crate) const fn is_float(self) -> bool {
        matches!(self.class(), Class::float | Class::float_load | Class::float_store)
    }
}
