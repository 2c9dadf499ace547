//! Programs on this machine, built by its C compiler, with base pages and with huge ones in turns.

use super::programs::Point;
use super::sources::{FLAGS, SHARED, SOURCES};
use crate::cleanup::TemporaryPath;
use crate::error::Failure;
use crate::interrupt;
use calibrate::Spread;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The pages of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageSide {
    Base,
    Huge,
    /// Entries of base pages for frames that lie as those of huge pages do.
    Split,
}

/// The variable that has the programs split their huge pages.
const SPLIT: &str = "PAGEWALK_SPLIT";

impl PageSide {
    pub(crate) const ALL: [Self; 3] = [Self::Base, Self::Huge, Self::Split];

    /// The value of the programs' option `page`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Base => "4K",
            Self::Huge | Self::Split => "2M",
        }
    }
}

/// The built program.
pub(crate) struct Native {
    directory: TemporaryPath,
}

/// What was measured of a point: nanoseconds of an operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) base: Spread,
    pub(crate) huge: Spread,
    pub(crate) split: Spread,
    /// Bytes that the last level of caches held meanwhile, where that was measured.
    pub(crate) last_level: Option<Spread>,
    /// How often the point was measured: these are the numbers with the smallest [`Self::spread`].
    pub(crate) times: u32,
}

/// Where the quartiles of a time lie further apart, as a share of the median, something else has used the machine.
pub(crate) const NOISY: f64 = 0.15;

impl Measured {
    /// The greatest interquartile range of its times, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        [self.base, self.huge, self.split].iter().map(Spread::relative).fold(0.0, f64::max)
    }

    /// This measurement or a later one of the same point: the one with the smaller spread.
    fn or_quieter(self, later: Self) -> Self {
        let quieter = if later.spread() < self.spread() { later } else { self };
        Self { times: self.times + later.times, ..quieter }
    }
}

/// Measures all points with `one`, then those that are [noisy](NOISY) up to `again` times more, behind all others.
///
/// # Errors
/// Those of `one`.
pub(crate) fn measure_all(
    points: &[Point],
    again: u32,
    mut one: impl FnMut(&Point) -> Result<Measured, Failure>,
) -> Result<Vec<Measured>, Failure> {
    let mut measured = points.iter().map(&mut one).collect::<Result<Vec<_>, Failure>>()?;
    for _ in 0..again {
        for (measured, point) in measured.iter_mut().zip(points).filter(|(measured, _)| measured.spread() > NOISY) {
            *measured = measured.or_quieter(one(point)?);
        }
    }
    Ok(measured)
}

impl Native {
    /// Builds it with `CC`, or `cc`.
    ///
    /// # Errors
    /// [`Failure::Run`]: there is no compiler, or it fails.
    pub(crate) fn build() -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("validate: {error}"));
        let directory =
            tempfile::Builder::new().prefix("pagewalk-validate-").tempdir().map_err(|error| failed(&error))?;
        let native = Self { directory: TemporaryPath::remove_later(directory.keep()) };
        native.unpack().map_err(|error| failed(&error))?;
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let root = native.directory.path();
        let mut command = Command::new(&compiler);
        command.current_dir(root).args(FLAGS).arg("validation/programs.h").args(["-o", "program"]);
        command.args(SOURCES.iter().map(|(path, _)| path).filter(|path| path.ends_with(".c")));
        let built = command.stdin(Stdio::null()).output();
        let built = built.map_err(|error| failed(&format!("the C compiler {compiler}: {error}")))?;
        if !built.status.success() {
            let said = String::from_utf8_lossy(&built.stderr);
            let first = said.lines().find(|line| line.contains("error")).unwrap_or("it says nothing");
            return Err(failed(&format!("{compiler} failed: {first}")));
        }
        Ok(native)
    }

    fn unpack(&self) -> io::Result<()> {
        for (path, text) in SOURCES.into_iter().chain([SHARED]) {
            let path = self.directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a source lies in a directory"))?;
            fs::write(path, text)?;
        }
        Ok(())
    }

    /// Measures a point: `repeats` runs of each kind of pages, in turns, so that whatever else the machine does is done to all.
    /// `before_each` is called before each turn.
    ///
    /// # Errors
    /// [`Failure::Run`]: a program fails, or the system does not give the pages that were asked for.
    pub(crate) fn measure(
        &self,
        point: &Point,
        repeats: usize,
        mut before_each: impl FnMut(),
    ) -> Result<Measured, Failure> {
        let mut times = [const { Vec::new() }; PageSide::ALL.len()];
        for _ in 0..repeats {
            before_each();
            for (times, side) in times.iter_mut().zip(PageSide::ALL) {
                times.push(self.run(point, side)?);
            }
        }
        let [base, huge, split] = times.map(|times| Spread::of_repeats(&times).expect("there is a repeat"));
        Ok(Measured { base, huge, split, last_level: None, times: 1 })
    }

    fn run(&self, point: &Point, side: PageSide) -> Result<f64, Failure> {
        if let Some(signal) = interrupt::requested() {
            return Err(Failure::Interrupted(signal));
        }
        let failed = |problem: String| Failure::Run(format!("{} on this machine: {problem}", point.name()));
        let program: PathBuf = self.directory.path().join("program");
        let mut command = Command::new(program);
        command.arg(point.program.name).args(point.options().split(' ')).arg(format!("page={}", side.name()));
        if side == PageSide::Split {
            command.env(SPLIT, "1");
        }
        let Output { status, stdout, .. } =
            command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
        let output = String::from_utf8_lossy(&stdout);
        if !status.success() {
            return Err(failed(output.lines().next().map_or_else(|| status.to_string(), str::to_owned)));
        }
        check_pages(&output, side).map_err(failed)?;
        point.figures(&output).map(|figures| figures.ns).map_err(failed)
    }
}

/// Whether the kernel gave the pages that were asked for, by what the program says of itself.
fn check_pages(output: &str, side: PageSide) -> Result<(), String> {
    let line = output.lines().find_map(|line| line.strip_prefix("native: ")).ok_or("it said nothing of its pages")?;
    let figure = |key: &str| {
        let words = line.split_whitespace().filter_map(|word| word.split_once('='));
        words.filter(|(name, _)| *name == key).find_map(|(_, value)| value.parse::<u64>().ok())
    };
    let (Some(advised), Some(huge), Some(split)) = (figure("advised"), figure("huge"), figure("split")) else {
        return Err(format!("`{line}` says nothing of its pages"));
    };
    match side {
        // A page at the end of each area may be left out.
        PageSide::Huge | PageSide::Split if huge + split < advised / 10 * 9 => {
            Err(format!("the kernel gave {} MiB of {} MiB in huge pages", (huge + split) >> 20, advised >> 20))
        }
        PageSide::Split if huge > advised / 10 => {
            Err(format!("{} MiB of {} MiB in huge pages are not split", huge >> 20, advised >> 20))
        }
        PageSide::Base if huge > 0 => Err("the kernel gave huge pages where base pages were asked for".to_owned()),
        PageSide::Huge | PageSide::Base | PageSide::Split => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::PROGRAMS;

    #[test]
    fn pages_that_were_not_given_are_noticed() {
        let line = |advised: u64, huge: u64| format!("gups: ok\nnative: advised={advised} huge={huge} split=0\n");
        assert_eq!(check_pages(&line(16 << 20, 16 << 20), PageSide::Huge), Ok(()));
        assert_eq!(check_pages(&line(16 << 20, 0), PageSide::Base), Ok(()));
        assert!(check_pages(&line(16 << 20, 2 << 20), PageSide::Huge).unwrap_err().contains("2 MiB of 16 MiB"));
        assert!(check_pages(&line(16 << 20, 2 << 20), PageSide::Base).is_err());
        assert!(check_pages("gups: ok\n", PageSide::Base).is_err());
        let split = |huge: u64| format!("native: advised={} huge={huge} split={}\n", 16 << 20, 16 << 20);
        assert_eq!(check_pages(&split(0), PageSide::Split), Ok(()));
        assert!(check_pages(&split(16 << 20), PageSide::Split).unwrap_err().contains("16 MiB of 16 MiB"));
        assert!(check_pages(&line(16 << 20, 0), PageSide::Split).unwrap_err().contains("0 MiB of 16 MiB"));
    }

    #[test]
    fn a_noisy_point_is_measured_again_behind_all_others() {
        let points = crate::validation::points(&[&PROGRAMS[0]], 3);
        let spread = |share: f64| Spread { median: 10.0, low: 10.0 - 5.0 * share, high: 10.0 + 5.0 * share };
        let of = |share| Measured {
            base: Spread::exact(1.0),
            huge: spread(share),
            split: Spread::exact(1.0),
            last_level: None,
            times: 1,
        };
        // The second point is noisy three times, the third once; the first is quiet.
        let mut next = [0.1, 0.5, 0.3, 0.4, 0.15, 0.2].into_iter();
        let mut order = Vec::new();
        let measured = measure_all(&points, 2, |point| {
            order.push(point.size);
            Ok(of(next.next().unwrap()))
        });
        let shown: Vec<(u32, f64)> = measured.unwrap().iter().map(|one| (one.times, one.spread())).collect();
        assert_eq!(order, ["16M", "64M", "256M", "64M", "256M", "64M"]);
        assert_eq!(shown.iter().map(|one| one.0).collect::<Vec<_>>(), [1, 3, 2]);
        for ((_, spread), expected) in shown.into_iter().zip([0.1, 0.2, 0.15]) {
            assert!((spread - expected).abs() < 1e-9, "{spread}");
        }
    }

    /// What is compiled includes nothing that is not unpacked.
    #[test]
    fn sources_are_whole() {
        let names: Vec<&str> = SOURCES.iter().chain([&SHARED]).map(|(path, _)| *path).collect();
        for (path, text) in SOURCES.iter().chain([&SHARED]) {
            for included in text.lines().filter_map(|line| line.strip_prefix("#include \"")) {
                let included = included.trim_end_matches('"');
                let (folder, name) = match included.strip_prefix("../") {
                    Some(other) => other.split_once('/').unwrap(),
                    None => (path.split_once('/').unwrap().0, included),
                };
                assert!(names.contains(&format!("{folder}/{name}").as_str()), "{path} includes {included}");
            }
        }
    }
}
