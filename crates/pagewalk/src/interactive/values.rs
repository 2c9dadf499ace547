//! Registers and TLBs as values of JSON.

use crate::error::Failure;
use machine::debug::{Permits, Registers, ResidentSpace, TlbContents, TlbEntry};
use serde_json::{Map, Value, json};

/// The registers by name. `x` has `x0` as well, so that `x[n]` is register `xn`.
pub(super) fn registers(registers: &Registers) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(registers).map_err(|error| Failure::Run(error.to_string()))?;
    if let Some(Value::Array(x)) = value.get_mut("x") {
        x.insert(0, json!(0));
    }
    Ok(value)
}

/// `before` with the values of `changes`.
pub(super) fn changed(before: &Registers, changes: &Map<String, Value>) -> Result<Registers, Failure> {
    let mut value = registers(before)?;
    for (name, new) in changes {
        match value.get_mut(name) {
            Some(Value::Array(old)) if new.as_array().is_none_or(|new| new.len() != old.len()) => {
                return Err(Failure::Usage(format!("register {name}: it is a list of {} values", old.len())));
            }
            Some(old) => *old = new.clone(),
            None => return Err(Failure::Usage(format!("there is no register {name}"))),
        }
    }
    if let Some(Value::Array(x)) = value.get_mut("x") {
        x.remove(0);
    }
    serde_json::from_value(value).map_err(|error| Failure::Usage(format!("registers: {error}")))
}

/// The entries of the TLBs, by level.
pub(super) fn tlb(contents: &TlbContents) -> Value {
    let entries = |entries: &[TlbEntry]| entries.iter().map(entry).collect::<Vec<_>>();
    json!({ "l1d": entries(&contents.l1d), "l1i": entries(&contents.l1i), "l2": entries(&contents.l2) })
}

fn entry(entry: &TlbEntry) -> Value {
    let TlbEntry { gva, gpa, hpa, size, space, permits } = entry;
    let Permits { read, write, execute, user, supervisor } = permits;
    let (space, asid) = match space {
        ResidentSpace::Asid(asid) => ("asid", Some(asid.0)),
        ResidentSpace::Global => ("global", None),
        ResidentSpace::Bare => ("bare", None),
    };
    json!({
        "gva": gva.0,
        "gpa": gpa.0,
        "hpa": hpa.0,
        "bytes": size.bytes(),
        "space": space,
        "asid": asid,
        "read": read,
        "write": write,
        "execute": execute,
        "user": user,
        "supervisor": supervisor,
    })
}
