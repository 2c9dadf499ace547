//! Formats of profiles.

use crate::cli::ProfileFormat;
use std::path::Path;

/// How the file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Container {
    /// It is not.
    Plain,
    /// In the format of gzip.
    Gzip,
}

/// The format that a file's name says: `.folded`, `.json`, and `.fxprof.json` or `.json.gz` for the Firefox Profiler. `None` for another name.
pub(super) fn format_of_name(path: &Path) -> Option<ProfileFormat> {
    let name = path.file_name()?.to_str()?;
    match name {
        _ if name.ends_with(".folded") => Some(ProfileFormat::Folded),
        _ if name.ends_with(".fxprof.json") || name.ends_with(".json.gz") => Some(ProfileFormat::Firefox),
        _ if name.ends_with(".json") => Some(ProfileFormat::Json),
        _ => None,
    }
}

impl Container {
    /// The container that a file's name says.
    pub(super) fn of_name(path: &Path) -> Self {
        if path.extension().is_some_and(|extension| extension == "gz") { Self::Gzip } else { Self::Plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_format() {
        let of = |name: &str| (format_of_name(Path::new(name)), Container::of_name(Path::new(name)));
        assert_eq!(of("a/b.json"), (Some(ProfileFormat::Json), Container::Plain));
        assert_eq!(of("b.folded"), (Some(ProfileFormat::Folded), Container::Plain));
        assert_eq!(of("b.fxprof.json"), (Some(ProfileFormat::Firefox), Container::Plain));
        assert_eq!(of("b.json.gz"), (Some(ProfileFormat::Firefox), Container::Gzip));
        assert_eq!(of("/dev/stdout").0, None);
    }
}
