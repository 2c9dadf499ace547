//! Arguments of `completions` and `man`: what an installation needs beside the program.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `pagewalk completions`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: pagewalk completions bash > ~/.local/share/bash-completion/completions/pagewalk")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `pagewalk man`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: pagewalk man compare | man -l -")]
pub struct ManArgs {
    /// Print the page of this command, such as `compare` or `guest fetch` [default: the page of pagewalk]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write a page for each command into this directory, which exists
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    pub output: Option<PathBuf>,
}
