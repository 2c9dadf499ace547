//! Predicted against measured, as a table of text.

use super::compared::Compared;
use super::native::Measured;
use super::programs::Tuning;
use super::report::Made;
use crate::text::cell::Cell;
use crate::text::table::{Column, Table};

/// A row for each point.
pub(crate) fn table(compared: &[Compared], made: &Made<'_>) -> Table {
    let columns = [
        ("program", "program"),
        ("size", "size"),
        ("4K, ns", "measured_4k_ns"),
        ("spread", "measured_4k_spread_ratio"),
        ("2M, ns", "measured_2m_ns"),
        ("spread", "measured_2m_spread_ratio"),
        ("4K/2M", "measured_4k_over_2m"),
        ("predicted", "predicted_4k_over_2m"),
        ("spread", "predicted_spread_ratio"),
        ("error", "error_ratio"),
        ("same frames", "measured_split_over_2m"),
        ("predicted", "predicted_split_over_2m"),
        ("error", "split_error_ratio"),
        ("4K, ns", "predicted_4k_ns"),
        ("factor", "time_factor"),
        ("", "held_out"),
    ];
    let exact = ["host_model", "fidelity"].map(Column::exact);
    let mut table = Table::new("validation", columns.map(Column::from).into_iter().chain(exact));
    for one in compared {
        let Measured { base, huge, .. } = one.measured;
        table.row([
            Cell::text(one.point.program.name),
            Cell::text(one.point.size),
            Cell::fixed(base.median, 2),
            Cell::percent(base.relative(), 0),
            Cell::fixed(huge.median, 2),
            Cell::percent(huge.relative(), 0),
            Cell::fixed(one.measured_ratio().median, 2),
            Cell::fixed(one.predicted_ratio().median, 2),
            Cell::percent(one.predicted_ratio().relative(), 0),
            Cell::change(one.ratio_error()),
            Cell::fixed(one.split_ratio().median, 2),
            Cell::fixed(one.predicted_split_ratio().median, 2),
            Cell::change(one.split_error()),
            Cell::fixed(one.predicted.base.median, 2),
            Cell::fixed(one.time_factor(), 2),
            match one.point.program.tuning {
                Tuning::Allowed => Cell::default(),
                Tuning::HeldOut => Cell::text("held out"),
            },
            Cell::exact(made.model.name.as_str()),
            Cell::exact(made.fidelity()),
        ]);
    }
    table
}
