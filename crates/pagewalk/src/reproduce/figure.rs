//! Figures: the paper's numbers, and ours beside them.

use super::experiment::{Figure, Numbers, Points, Series};
use super::expression::Measured;
use super::interval::Estimate;
use crate::error::Failure;
use minijinja::Value;
use serde_json::Value as Json;

/// A figure with its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Filled<'e> {
    /// What the file says of it.
    pub(crate) figure: &'e Figure,
    /// Its points: labels or numbers.
    pub(crate) x: Vec<Json>,
    /// Its columns, in order.
    pub(crate) columns: Vec<Column<'e>>,
}

/// A column with its numbers, one for each point; `None` where there is none.
#[derive(Clone, Debug)]
pub(crate) struct Column<'e> {
    /// What the file says of it.
    pub(crate) series: &'e Series,
    /// The paper's; empty if it has none.
    pub(crate) paper: Vec<Option<f64>>,
    /// Ours; empty if the column is the paper's alone.
    pub(crate) ours: Vec<Option<Estimate>>,
}

impl<'e> Filled<'e> {
    /// The figure with what was measured.
    ///
    /// # Errors
    /// [`Failure::Usage`]: an expression that does not read, or is no number.
    pub(crate) fn of(figure: &'e Figure, repeats: &[Measured]) -> Result<Self, Failure> {
        let x = points(figure, &repeats[0])?;
        let column = |series: &'e Series| {
            let place = format!("figure `{}`, series `{}`", figure.id, series.name);
            let ours = repeats.iter().map(|measured| fill(&place, &series.ours, &x, measured));
            let ours = ours.collect::<Result<Vec<_>, _>>()?;
            // A point that some repeat has no number of has none.
            let point = |index: usize| Estimate::of(ours.iter().map(|repeat| repeat[index]).collect::<Option<_>>()?);
            let paper = fill(&place, &series.paper, &x, &repeats[0])?;
            Ok(Column { series, paper, ours: (0..ours[0].len()).map(point).collect() })
        };
        let columns = figure.series.iter().map(column).collect::<Result<_, Failure>>()?;
        Ok(Self { figure, x, columns })
    }
}

fn points(figure: &Figure, measured: &Measured) -> Result<Vec<Json>, Failure> {
    let failed = |problem: String| Failure::Usage(format!("figure `{}`, x: {problem}", figure.id));
    match &figure.x {
        Points::List(list) => Ok(list.iter().map(|x| serde_json::to_value(x).unwrap_or_default()).collect()),
        Points::Expression(text) => {
            let value = measured.evaluate(text).map_err(|error| failed(error.to_string()))?;
            let list = value.try_iter().map_err(|error| failed(error.to_string()))?;
            Ok(list.map(|x| serde_json::to_value(x).unwrap_or_default()).collect())
        }
    }
}

fn fill(place: &str, numbers: &Option<Numbers>, x: &[Json], measured: &Measured) -> Result<Vec<Option<f64>>, Failure> {
    let number = |(i, (x, expression)): (usize, (&Json, &String))| {
        let failed = |problem: String| Failure::Usage(format!("{place}, {x}: {problem}: {expression}"));
        let value = measured.evaluate_at(expression, &Value::from_serialize(x), i);
        let value = value.map_err(|error| failed(error.to_string()))?;
        if value.is_none() {
            return Ok(None);
        }
        f64::try_from(value).map(Some).map_err(|error| failed(error.to_string()))
    };
    match numbers {
        None => Ok(Vec::new()),
        Some(Numbers::List(list)) => {
            Ok(list.iter().map(|&number| Some(number).filter(|number| !number.is_nan())).collect())
        }
        Some(Numbers::Each(one)) => x.iter().map(|x| (x, one)).enumerate().map(number).collect(),
        Some(Numbers::Expressions(list)) => x.iter().zip(list).enumerate().map(number).collect(),
    }
}
