//! Options of `boot` that a guest that a program runs cannot have: the command's loop serves them, or writes what they ask for.

use crate::cli::BootArgs;
use crate::error::Failure;

/// Refuses them.
///
/// # Errors
/// [`Failure::Usage`], naming the first that is there.
pub(super) fn check(arguments: &BootArgs) -> Result<(), Failure> {
    let observe = &arguments.observe;
    let writes = arguments.linux.shares.iter().any(|share| share.write);
    let given = [
        (arguments.json.is_some(), "--json"),
        (arguments.profile.profile.is_some(), "--profile"),
        (arguments.trace.is_some(), "--trace"),
        (observe.interval_file.is_some(), "--interval-file"),
        (observe.reuse.is_some(), "--reuse"),
        (observe.heatmap.is_some(), "--heatmap"),
        (arguments.gdb.is_some(), "--gdb"),
        (arguments.snapshot.is_some(), "--snapshot"),
        (arguments.control.control.is_some(), "--control"),
        (!arguments.copy_outs.is_empty(), "--copy-out"),
        (arguments.linux.net.is_some(), "--net"),
        (arguments.linux.warm, "--warm"),
        (writes, "--share …,write"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => {
            Err(Failure::Usage(format!("{option} is for the command; a guest that runs in steps has no such option")))
        }
        None => Ok(()),
    }
}
