//! The info key `soft` (MPI 5.0 section 11.8.4): numbers of processes that will do.

/// How many processes to start: as many as possible of the numbers in `soft`, all of them without it.
pub(super) fn count(most: u32, soft: Option<&str>) -> Result<u32, String> {
    let Some(text) = soft else { return Ok(most) };
    let mut best = None;
    for part in text.split(',') {
        let numbers: Option<Vec<i64>> = part.split(':').map(|number| number.trim().parse().ok()).collect();
        let (first, last, step) = match numbers.as_deref() {
            Some([only]) => (*only, *only, 1),
            Some([first, last]) => (*first, *last, 1),
            Some([first, last, step]) if *step != 0 => (*first, *last, *step),
            _ => {
                return Err(format!(
                    "'{part}' is neither a number nor a range as first:last or first:last:step"
                ));
            }
        };
        best = best.max(largest((first, last, step), most.into()));
    }
    let best = best.and_then(|best| u32::try_from(best).ok()).filter(|best| *best > 0);
    best.ok_or_else(|| format!("no number of '{text}' is between 1 and maxprocs, which is {most}"))
}

/// The largest number of a range that is not above `most`.
fn largest((first, last, step): (i64, i64, i64), most: i64) -> Option<i64> {
    if (step > 0) != (first <= last) && first != last {
        return None;
    }
    let (low, step) = if step > 0 { (first, step) } else { (first - (first - last) / -step * -step, -step) };
    let high = first.max(last).min(most);
    (low <= high).then(|| low + (high - low) / step * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_will_do() {
        assert_eq!(count(7, None), Ok(7));
        for (text, most, expected) in [
            ("1:10:2", 7, 7),
            ("1:10:2", 8, 7),
            ("2,4,8", 7, 4),
            ("0:16", 7, 7),
            ("9:1:-3", 7, 6),
            ("10:2:-4", 7, 6),
            ("5", 7, 5),
            ("1,2:3", 2, 2),
        ] {
            assert_eq!(count(most, Some(text)), Ok(expected), "{text} {most}");
        }
        for (text, most) in [("8:10", 7), ("x", 7), ("1:2:0", 7), ("", 7), ("0", 3), ("1:2:3:4", 3)] {
            assert!(count(most, Some(text)).is_err(), "{text}");
        }
    }
}
