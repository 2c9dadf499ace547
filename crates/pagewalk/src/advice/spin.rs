//! Which answer to its guests' spins serves a host best.

use crate::time_model::TimeModels;
use serde_json::{Value, json};

/// A method that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    /// Its name.
    pub(crate) name: String,
    /// Transactions in a second of simulated time.
    pub(crate) etr: f64,
    /// Processors that guests took off line.
    pub(crate) lost: u64,
    /// Guests that did not come to a good end.
    pub(crate) failed: u64,
}

/// What the runs of one host advise.
#[derive(Clone, Debug)]
pub(crate) struct SpinAdvice {
    /// The report.
    pub(crate) report: String,
    /// The time model of its runs.
    pub(crate) times: TimeModels,
    /// All, the best first: those under which nothing was lost come before the others.
    pub(crate) ranking: Vec<Method>,
}

impl SpinAdvice {
    pub(super) fn of(report: &str, runs: &[Value]) -> Self {
        let method = |run: &Value| {
            let total = &run["total"];
            Method {
                name: total["spin"].as_str().unwrap_or_default().to_owned(),
                etr: total["etr"].as_f64().unwrap_or_default(),
                lost: total["processors_lost"].as_u64().unwrap_or_default(),
                failed: total["failed"].as_u64().unwrap_or_default(),
            }
        };
        let mut ranking: Vec<Method> = runs.iter().map(method).collect();
        ranking.sort_by(|a, b| (a.lost + a.failed > 0).cmp(&(b.lost + b.failed > 0)).then(b.etr.total_cmp(&a.etr)));
        Self { report: report.to_owned(), times: TimeModels::shared(&runs[0]), ranking }
    }

    /// The best.
    pub(crate) fn advised(&self) -> &Method {
        &self.ranking[0]
    }

    /// What has to be so that `method` can do its work.
    pub(crate) fn in_the_way(method: &str) -> &'static str {
        match method {
            "none" => "nothing",
            "gang" => "all vCPUs of a guest need pCPUs at once",
            "directed-yield" => "the processor must notice rows of `pause`",
            _ => "the guest has to call the hypervisor when it spins, or the processor to notice rows of `pause`",
        }
    }

    pub(super) fn json(&self) -> Value {
        let of = |method: &Method| {
            json!({
                "spin": method.name,
                "etr": method.etr,
                "processors_lost": method.lost,
                "failed": method.failed,
                "in_the_way": Self::in_the_way(&method.name),
            })
        };
        json!({ "report": self.report, "time_model": self.times.to_string(), "advised": self.advised().name, "ranking": self.ranking.iter().map(of).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_loses_processors_comes_last_however_fast_it_is() {
        let run = |spin: &str, etr: f64, lost: u64| json!({ "total": { "spin": spin, "etr": etr, "processors_lost": lost, "failed": 0 } });
        let advice = SpinAdvice::of("r.json", &[run("wopd", 900.0, 2), run("rslp", 500.0, 0), run("wapd", 600.0, 0)]);
        let order: Vec<&str> = advice.ranking.iter().map(|method| method.name.as_str()).collect();
        assert_eq!(order, ["wapd", "rslp", "wopd"]);
    }
}
