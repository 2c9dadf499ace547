//! Tables: what they have, whatever the format they are written in.

use super::cell::Cell;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What people read above it; `None` if only programs read the column.
    heading: Option<String>,
    name: String,
}

/// How a table is laid out for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A line for each row, below a line of headings.
    #[default]
    Lines,
    /// A block for each row: its first cell, and below it a line for each other cell.
    Blocks,
}

/// What is said of a table as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Caption {
    /// Nothing.
    #[default]
    None,
    /// Text above the table. An empty line separates the two if the text ends with a newline.
    Above(String),
    /// Text below the table, after an empty line.
    Below(String),
}

/// A table with a line of headings.
#[derive(Clone, Debug, Default)]
pub struct Table {
    name: String,
    shape: Shape,
    caption: Caption,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Column {
    /// A column that people know by `heading`, and programs by `name`, which has the unit.
    pub fn new(heading: impl Into<String>, name: impl Into<String>) -> Self {
        Self { heading: Some(heading.into()), name: name.into() }
    }

    /// A column for programs only.
    pub fn exact(name: impl Into<String>) -> Self {
        Self { heading: None, name: name.into() }
    }

    /// What programs know it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What people know it by; `None` if they do not see it.
    #[must_use]
    pub fn heading(&self) -> Option<&str> {
        self.heading.as_deref()
    }
}

impl<H: Into<String>, N: Into<String>> From<(H, N)> for Column {
    fn from((heading, name): (H, N)) -> Self {
        Self::new(heading, name)
    }
}

impl Table {
    /// A table without rows, which programs know by `name`.
    pub fn new<C: Into<Column>>(name: impl Into<String>, columns: impl IntoIterator<Item = C>) -> Self {
        Self { name: name.into(), columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same table with another shape.
    #[must_use]
    pub fn shaped(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The same table with a caption.
    #[must_use]
    pub fn captioned(self, caption: Caption) -> Self {
        Self { caption, ..self }
    }

    /// Adds a row. Cells that it lacks stay empty, and those beyond the columns are dropped.
    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), Cell::default());
        self.rows.push(row);
    }

    /// What programs know it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its shape for people.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Its caption.
    #[must_use]
    pub const fn caption(&self) -> &Caption {
        &self.caption
    }

    /// Its columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its rows, each with a cell for each column.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }
}
