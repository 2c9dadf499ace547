//! `pagewalk` with one scheme more.

mod flattened;

use std::process::ExitCode;

fn main() -> ExitCode {
    pagewalk::main(&[&flattened::Flattened])
}

#[cfg(test)]
mod tests {
    #[test]
    fn flattened_conforms() {
        pagewalk::schemes::conformance::check(&crate::flattened::Flattened);
    }
}
