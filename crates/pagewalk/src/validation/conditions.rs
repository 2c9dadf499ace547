//! What the page and the printed report say of the circumstances of the measurement.

use super::native::NOISY;

/// Where this machine's frames of 4K pages lay: the bytes that they were scattered over, or why they were not.
pub(crate) fn frames(scattered_over: Result<u64, &str>) -> String {
    match scattered_over {
        Ok(bytes) => {
            let gibibytes = bytes as f64 / f64::from(1 << 30);
            format!("This machine's frames of 4K pages were scattered over {gibibytes:.1} GiB of its memory as well.")
        }
        Err(reason) => format!("This machine's frames of 4K pages could not be scattered: {reason}."),
    }
}

/// How much of the last-level cache many misses at a time kept, by the median of each point where that was measured.
pub(crate) fn last_level(bytes: impl Iterator<Item = f64>) -> Option<String> {
    let (least, most) = bytes.fold(None, |range, bytes| {
        let (least, most) = range.unwrap_or((bytes, bytes));
        Some((f64::min(least, bytes), f64::max(most, bytes)))
    })?;
    let [least, most] = [least, most].map(|bytes| bytes / f64::from(1 << 20));
    Some(format!(
        "While a program ran, many misses at a time kept {least:.1} to {most:.1} MiB of the last-level cache. \
         Each prediction has the size that was measured beside its program, in place of the host model's."
    ))
}

/// Which points were measured again, by how often each was measured and the spread of what counts.
pub(crate) fn noisy(points: impl Iterator<Item = (u32, f64)>) -> Option<String> {
    let points: Vec<(u32, f64)> = points.collect();
    let again = points.iter().filter(|(times, _)| *times > 1).count();
    let noisy = points.iter().filter(|(_, spread)| *spread > NOISY).count();
    (again + noisy > 0).then(|| {
        format!(
            "Of {} points {again} were measured again, because quartiles of their times lay more than {} % of the median apart. \
             The measurement with the smallest spread counts. {noisy} still have a greater one: other work uses this machine.",
            points.len(),
            100.0 * NOISY,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circumstances_are_in_words() {
        assert!(frames(Ok(3 << 29)).contains("over 1.5 GiB"));
        assert!(frames(Err("it has too little memory")).ends_with("could not be scattered: it has too little memory."));
        let mebibyte = f64::from(1 << 20);
        let said = last_level([6.0, 2.5, 4.0].into_iter().map(|size| size * mebibyte)).unwrap();
        assert!(said.contains("kept 2.5 to 6.0 MiB"), "{said}");
        assert_eq!(last_level(std::iter::empty()), None);
        let said = noisy([(1, 0.1), (3, 0.2), (2, 0.05)].into_iter()).unwrap();
        assert!(said.starts_with("Of 3 points 2 were measured again") && said.contains(" 1 still"), "{said}");
        assert_eq!(noisy([(1, 0.1)].into_iter()), None);
    }
}
