//! The option of every command that runs guests: whether it gives up what it does not need.

use clap::{Args, ValueEnum};

/// Whether a command runs its guests in a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SandboxMode {
    /// It does.
    #[default]
    On,
    /// It does not, such as under a debugger.
    Off,
}

/// Arguments of the commands that run guests in the sandbox.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Machine")]
pub struct SandboxArgs {
    /// Give up system calls and files that the run does not need (docs/sandbox.md); `off` is for debuggers
    #[arg(long, value_name = "on|off", value_enum, default_value_t, hide_possible_values = true)]
    pub sandbox: SandboxMode,
}
