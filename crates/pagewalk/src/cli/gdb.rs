//! `--gdb`: where a debugger connects.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `PORT` or `unix:PATH`: where Pagewalk waits for a debugger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GdbAddress {
    /// A port of this host alone (127.0.0.1); 0 is any that is free.
    Port(u16),
    /// A socket of the file system.
    Unix(PathBuf),
}

impl FromStr for GdbAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_prefix("unix:").filter(|path| !path.is_empty());
        if let Some(path) = path {
            return Ok(Self::Unix(path.into()));
        }
        // `parse` would take a sign.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let port = text.parse().ok().filter(|_| digits);
        port.map(Self::Port).ok_or_else(|| format!("`{text}` is neither a port from 0 to 65535 nor unix:PATH"))
    }
}

impl fmt::Display for GdbAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(f, "{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_or_a_path() {
        assert_eq!("1234".parse(), Ok(GdbAddress::Port(1234)));
        assert_eq!("unix:/tmp/gdb".parse(), Ok(GdbAddress::Unix("/tmp/gdb".into())));
        for wrong in ["", "+1", "65536", "unix:", "localhost:1", "/tmp/gdb"] {
            assert!(wrong.parse::<GdbAddress>().unwrap_err().contains(&format!("`{wrong}`")), "{wrong}");
        }
    }
}
