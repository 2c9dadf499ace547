//! System calls, by seccomp (seccomp(2)): the list of [`CALLS`] as a filter.

use super::calls::{CALLS, Condition, NETWORK_CALLS, Rule, SHARE_CALLS, SHARE_WRITE_CALLS};
use super::error::SandboxError;
use super::needs::{CodeRange, Sandbox};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};
use std::collections::BTreeMap;
use std::{env, io, process};

/// The filters of a sandbox. The kernel asks all of them, and the strictest answer counts.
pub(super) struct Filters {
    /// In the order in which they are installed: the last refuses to install more.
    programs: Vec<BpfProgram>,
}

/// System calls that fail instead of ending the process: libraries try them, and go on without.
fn failing(sandbox: &Sandbox) -> Vec<(Vec<i64>, i32)> {
    // Its flags lie in memory, where a filter cannot see them. The C library then uses `clone`.
    let mut failing = vec![(vec![libc::SYS_clone3], libc::ENOSYS)];
    if !sandbox.opens() {
        failing.push((vec![libc::SYS_openat], libc::EACCES));
        #[cfg(target_arch = "x86_64")]
        failing.push((vec![libc::SYS_open], libc::EACCES));
    }
    failing
}

impl Filters {
    pub(super) fn new(sandbox: &Sandbox) -> Result<Self, SandboxError> {
        let mut programs = Vec::new();
        // Of all filters' answers a trap is stricter than an error: a call that is to fail must pass the list.
        let mut rules = BTreeMap::new();
        for (calls, error) in failing(sandbox) {
            rules.extend(calls.iter().map(|&call| (call, Vec::new())));
            let calls = calls.into_iter().map(|call| (call, Vec::new())).collect();
            programs.push(program(calls, SeccompAction::Allow, SeccompAction::Errno(error as u32))?);
        }
        for call in CALLS {
            rules.insert(call.number, compiled(call.rule, sandbox.code.as_ref())?);
        }
        if !sandbox.listeners.is_empty() {
            rules.insert(libc::SYS_accept4, on(&sandbox.listeners)?);
        }
        if let Some(datagrams) = &sandbox.network {
            for call in NETWORK_CALLS {
                rules.insert(call.number, compiled(call.rule, None)?);
            }
            rules.entry(libc::SYS_sendto).or_default().extend(on(&datagrams.anywhere)?);
        }
        let (shares, changes) = sandbox.shares();
        for (wanted, calls) in [(shares, SHARE_CALLS), (changes, SHARE_WRITE_CALLS)] {
            for call in calls.iter().filter(|_| wanted) {
                rules.insert(call.number, compiled(call.rule, None)?);
            }
        }
        programs.push(program(rules, SeccompAction::Trap, SeccompAction::Allow)?);
        Ok(Self { programs })
    }

    /// Installs them for all threads. Returns whether the kernel has seccomp.
    pub(super) fn install(&self) -> Result<bool, SandboxError> {
        for (number, program) in self.programs.iter().enumerate() {
            match apply_filter_all_threads(program) {
                Ok(()) => {}
                Err(seccompiler::Error::Seccomp(error)) if number == 0 && is_missing(&error) => return Ok(false),
                Err(error) => return Err(SandboxError::Seccomp(error.to_string())),
            }
        }
        Ok(true)
    }
}

/// Whether the kernel has no seccomp filters, rather than refusing one.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL))
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, SandboxError> {
    let wrong = |error: seccompiler::BackendError| SandboxError::Seccomp(error.to_string());
    let processor = env::consts::ARCH.try_into().map_err(wrong)?;
    SeccompFilter::new(rules, otherwise, matched, processor).and_then(TryInto::try_into).map_err(wrong)
}

/// The rules of one call, one of which has to match; none: it always does.
fn compiled(rule: Rule, code: Option<&CodeRange>) -> Result<Vec<SeccompRule>, SandboxError> {
    let alternatives: Vec<Vec<SeccompCondition>> = match rule {
        Rule::Always => return Ok(Vec::new()),
        Rule::If(alternatives) => alternatives
            .iter()
            .map(|all| all.iter().map(condition).collect::<Result<_, _>>())
            .collect::<Result<_, _>>()?,
        Rule::Protect => protect(code)?,
        Rule::OwnProcess => vec![vec![equal(0, process::id().into())?]],
    };
    let made = alternatives.into_iter().map(SeccompRule::new).collect::<Result<_, _>>();
    made.map_err(|error| SandboxError::Seccomp(error.to_string()))
}

/// A call whose first argument is one of these sockets.
fn on(sockets: &[u32]) -> Result<Vec<SeccompRule>, SandboxError> {
    let wrong = |error: seccompiler::BackendError| SandboxError::Seccomp(error.to_string());
    sockets.iter().map(|&socket| SeccompRule::new(vec![equal(0, socket.into())?]).map_err(wrong)).collect()
}

/// `mprotect`: memory that is not executable, or compiled code that is not writable.
fn protect(code: Option<&CodeRange>) -> Result<Vec<Vec<SeccompCondition>>, SandboxError> {
    const EXECUTE: u64 = libc::PROT_EXEC as u64;
    let mut alternatives = vec![vec![condition(&Condition::Clear(2, EXECUTE))?]];
    if let Some(CodeRange { addresses, longest }) = code {
        alternatives.push(vec![
            compare(0, SeccompCmpOp::Ge, addresses.start as u64)?,
            compare(0, SeccompCmpOp::Lt, addresses.end as u64)?,
            compare(1, SeccompCmpOp::Le, *longest as u64)?,
            equal(2, libc::PROT_READ as u64 | EXECUTE)?,
        ]);
    }
    Ok(alternatives)
}

fn condition(condition: &Condition) -> Result<SeccompCondition, SandboxError> {
    match *condition {
        Condition::Is(argument, value) => equal(argument, value),
        Condition::Clear(argument, bits) => compare(argument, SeccompCmpOp::MaskedEq(bits), 0),
        Condition::Set(argument, bits) => compare(argument, SeccompCmpOp::MaskedEq(bits), bits),
    }
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, SandboxError> {
    compare(argument, SeccompCmpOp::Eq, value)
}

/// All 64 bits are compared: a register's upper half is no place to hide in.
fn compare(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, how, value)
        .map_err(|error| SandboxError::Seccomp(error.to_string()))
}
