//! Reading a host model, shipped or in a file.

use super::caches::CachesModel;
use super::{HostModel, HostModelError, SHIPPED, base};
use crate::toml_problem;
use keys::{Declared, out_of_range};
use std::path::Path;
use toml::Table;

/// Bytes of the shortest line that a cache may have.
const LEAST_LINE: u32 = 16;

impl HostModel {
    /// The shipped model `name`, or the one in the file of that path.
    ///
    /// # Errors
    /// [`HostModelError`], naming the file and the key.
    pub fn load(name: &str) -> Result<Self, HostModelError> {
        Self::parse(name, &Self::text(name)?)
    }

    /// The text of a model, with the sources of its numbers: that of a shipped name, or of the file at that path.
    ///
    /// # Errors
    /// [`HostModelError`], if there is no such file.
    pub fn text(name: &str) -> Result<String, HostModelError> {
        let text = match SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            Some((_, text)) => (*text).to_owned(),
            None if Path::new(name).exists() => {
                std::fs::read_to_string(name).map_err(|error| HostModelError::Read { path: name.to_owned(), error })?
            }
            None => return Err(HostModelError::Unknown { name: name.to_owned() }),
        };
        Ok(text)
    }

    /// The model in `text`, the content of the file that errors call `path`, where a relative path of its base begins.
    ///
    /// # Errors
    /// [`HostModelError::Content`], naming the file and the key, and what is wrong with its base.
    pub fn parse(path: &str, text: &str) -> Result<Self, HostModelError> {
        let wrong = |problem: String| HostModelError::Content { path: path.to_owned(), problem };
        let model = match base::resolve(path, text)? {
            Some(resolved) => resolved.model().map_err(|(key, problem)| wrong(base::placed(text, &key, &problem)))?,
            None => toml::from_str::<Self>(text).map_err(|error| wrong(toml_problem::of_text(text, &error)))?,
        };
        model.problem().map_or(Ok(model), |problem| Err(wrong(problem)))
    }

    /// What is wrong with it, with the key; `None` if it can be built.
    pub(super) fn problem(&self) -> Option<String> {
        let table = Table::try_from(self).expect("a model is a table");
        let wrong = out_of_range(&keys::keys("", Self::KEYS), &table);
        let wrong = wrong.map(|wrong| format!("{}: {}", wrong.key, wrong.problem));
        let line = self.caches.as_ref().map_or(LEAST_LINE, |caches| caches.l1d.line.max(caches.l1i.line));
        wrong
            .or_else(|| self.caches.as_ref().and_then(CachesModel::problem))
            .or_else(|| self.footprint.as_ref().and_then(|footprint| footprint.problem(line)))
    }
}
