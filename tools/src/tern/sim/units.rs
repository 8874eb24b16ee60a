//! Numbers with units, as people write and read them.

/// `8`, `64k`, `1m`: with suffixes that are powers of 1024.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let shift = [('k', 10), ('m', 20), ('g', 30)].into_iter().find(|(letter, _)| lower.ends_with(*letter));
    let (digits, shift) = shift.map_or((&*lower, 0), |(_, shift)| (&lower[..lower.len() - 1], shift));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.ok_or_else(|| format!("'{text}' is no number, as in 8, 64k or 1m"))
}

/// No time is as long: it is counted in picoseconds, and many of them are added.
const TIME_NS_END: f64 = 1e12;

/// `5us`, `1.5ms`: as nanoseconds, which a number alone counts.
pub(crate) fn parse_time(text: &str) -> Result<f64, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let unit = units.into_iter().find_map(|(name, factor)| Some((text.strip_suffix(name)?, factor)));
    let (digits, factor) = unit.unwrap_or((text, 1.0));
    let time = digits.parse::<f64>().ok().map(|time| time * factor).filter(|time| *time >= 0.0);
    let time = time.ok_or_else(|| format!("'{text}' is no time, as in 100ns, 5us or 1.5ms"))?;
    if time < TIME_NS_END {
        Ok(time)
    } else {
        Err(format!("'{text}' is too long; times are shorter than 1000s"))
    }
}

/// The shortest way to write a number of bytes or ranks.
pub(crate) fn count(number: u64) -> String {
    let whole = |&(_, shift): &(char, u32)| number > 0 && number % (1 << shift) == 0;
    match [('g', 30), ('m', 20), ('k', 10)].into_iter().find(whole) {
        Some((letter, shift)) => format!("{}{letter}", number >> shift),
        None => number.to_string(),
    }
}

/// Three digits of a time in nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| ns >= *factor).unwrap_or((1.0, "ns"));
    let value = ns / factor;
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

/// Three digits of a number of bytes.
pub(crate) fn bytes(bytes: f64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(factor, _)| bytes >= *factor as f64) {
        Some((factor, unit)) => format!("{:.1} {unit}", bytes / factor as f64),
        None => format!("{bytes:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written() {
        assert_eq!(["8", "64k", "1M"].map(parse_count), [8, 65536, 1 << 20].map(Ok));
        assert!(parse_count("1.5k").is_err() && parse_count("").is_err());
        assert_eq!([8, 65536, 1 << 20, 1000, 0].map(count), ["8", "64k", "1m", "1000", "0"]);
        assert_eq!(bytes(1536.0), "1.5 KiB");
    }

    #[test]
    fn times_are_read_and_written() {
        assert_eq!(["7", "7ns", "1.5us", "2ms", "1s"].map(parse_time), [7.0, 7.0, 1500.0, 2e6, 1e9].map(Ok));
        assert!(
            ["", "us", "-1us", "NaN", "5 parsecs", "1000s", "1e12s", "inf"]
                .iter()
                .all(|text| parse_time(text).is_err())
        );
        assert_eq!([7.0, 1500.0, 25_340.0, 2.5e9].map(time), ["7.00 ns", "1.50 us", "25.3 us", "2.50 s"]);
    }
}
