//! Requests: what a client may ask of a run.

use serde::{Deserialize, Serialize};

/// A line that a client sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Request {
    /// How far the run is.
    Status {},
    /// The machine stands still until it is resumed.
    Pause {},
    /// The machine goes on.
    Resume {},
    /// What was counted up to now.
    Statistics {},
    /// The guest's state goes to the file that the run was started with, and the run ends.
    Snapshot {},
    /// Guests with a balloon are asked to give up so many bytes in all.
    Balloon {
        /// A multiple of 4096.
        bytes: u64,
    },
    /// A reservation of reserved memory is freed.
    Free {
        /// Its name.
        name: String,
        /// The group whose section it is for; none for the whole system's.
        #[serde(default)]
        group: Option<u32>,
    },
    /// The run ends.
    Quit {
        /// The exit code of the process.
        #[serde(default)]
        status: u8,
    },
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| format!("not a request: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_read_as_they_are_written() {
        let all = [
            Request::Status {},
            Request::Pause {},
            Request::Resume {},
            Request::Statistics {},
            Request::Snapshot {},
            Request::Balloon { bytes: 4096 },
            Request::Free { name: "cache".to_owned(), group: Some(5) },
            Request::Quit { status: 3 },
        ];
        for request in all {
            assert_eq!(Request::parse(&serde_json::to_vec(&request).unwrap()), Ok(request));
        }
        let free = Request::Free { name: "cache".to_owned(), group: None };
        assert_eq!(Request::parse(br#"{"do":"free","name":"cache","group":null}"#), Ok(free.clone()));
        assert_eq!(Request::parse(br#"{"do":"free","name":"cache"}"#), Ok(free));
        assert_eq!(Request::parse(b"{\"do\":\"quit\"}"), Ok(Request::Quit { status: 0 }));
    }

    #[test]
    fn anything_else_is_an_error_in_words() {
        let deep = "[".repeat(100_000);
        for line in ["", "{", "[]", "7", "{}", "{\"do\":\"x\"}", "{\"do\":\"balloon\",\"bytes\":-1}", "\u{0}", &deep] {
            assert!(Request::parse(line.as_bytes()).unwrap_err().starts_with("not a request: "), "{line}");
        }
        assert!(Request::parse(b"{\"do\":\"quit\",\"status\":256}").is_err());
        assert!(Request::parse(b"{\"do\":\"status\",\"more\":1}").is_err());
        assert!(Request::parse(br#"{"do":"free"}"#).is_err());
        assert!(Request::parse(b"\xff\xfe").is_err());
    }
}
