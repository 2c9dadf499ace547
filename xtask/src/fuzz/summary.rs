//! What libFuzzer says at the end of a run, as a row of a table.

/// The figures of one run, as libFuzzer prints them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Inputs executed.
    executions: String,
    /// The same in a second.
    speed: String,
    /// Edges of the control flow that were reached.
    edges: String,
    /// Edges by how often they were taken, and the like.
    features: String,
    /// Inputs that reach them, and their bytes.
    corpus: String,
    /// The seed of the run, which repeats it.
    seed: String,
}

impl Summary {
    /// Of what libFuzzer wrote.
    pub(super) fn of(log: &str) -> Self {
        let last = |key: &str| {
            let mut lines = log.lines().rev().filter_map(|line| line.split_once(key));
            lines.find_map(|(_, rest)| rest.split_whitespace().next()).unwrap_or("?").to_owned()
        };
        Self {
            executions: last("stat::number_of_executed_units:"),
            speed: last("stat::average_exec_per_sec:"),
            edges: last(" cov: "),
            features: last(" ft: "),
            corpus: last(" corp: "),
            seed: last("INFO: Seed: "),
        }
    }

    fn cells(&self) -> [&str; 6] {
        let Self { executions, speed, edges, features, corpus, seed } = self;
        [executions, speed, edges, features, corpus, seed]
    }
}

/// The runs as a table, a row for each target.
pub(super) fn table(runs: &[(&str, Summary)]) -> String {
    let row = |name: &str, [executions, speed, edges, features, corpus, seed]: [&str; 6]| {
        format!("{name:13} {executions:>11} {speed:>9} {edges:>7} {features:>9} {corpus:>13} {seed:>11}\n")
    };
    let head = row("target", ["executions", "a second", "edges", "features", "corpus", "seed"]);
    runs.iter().fold(head, |table, (target, summary)| table + &row(target, summary.cells()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "INFO: Seed: 17\n#2 INITED cov: 30 ft: 40 corp: 1/1b lim: 4\n#9 DONE   cov: 31 ft: 45 corp: 2/3b lim: 4\n\
                       stat::number_of_executed_units: 9\nstat::average_exec_per_sec:     3\n";

    #[test]
    fn the_end_of_a_log_is_a_row() {
        assert_eq!(
            table(&[("kernels", Summary::of(LOG))]),
            "target         executions  a second   edges  features        corpus        seed\n\
             kernels                 9         3      31        45          2/3b          17\n"
        );
    }

    #[test]
    fn a_log_without_an_end_has_no_figures() {
        assert_eq!(Summary::of("").cells(), ["?"; 6]);
    }
}
