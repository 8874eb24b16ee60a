//! A range of numbers, as tables write it.

use std::fmt;

/// Numbers from `min` to `max`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberRange {
    /// The least.
    pub min: u64,
    /// The greatest; [`u64::MAX`] for none.
    pub max: u64,
}

/// Suffixes of numbers, with the power of two that each stands for; the largest first.
const SUFFIXES: [(char, u32); 3] = [('g', 30), ('m', 20), ('k', 10)];

impl NumberRange {
    /// Every number.
    pub const ANY: NumberRange = NumberRange { min: 0, max: u64::MAX };

    /// The numbers up to `max`.
    pub const fn up_to(max: u64) -> NumberRange {
        NumberRange { min: 0, max }
    }

    /// The numbers from `min` on.
    pub const fn from(min: u64) -> NumberRange {
        NumberRange { min, max: u64::MAX }
    }

    /// Whether a number is within.
    pub fn contains(&self, number: u64) -> bool {
        (self.min..=self.max).contains(&number)
    }

    /// `any`, `8`, `2-8`, `64k-` or `-16k`.
    pub fn parse(text: &str) -> Result<NumberRange, String> {
        let wrong = || format!("'{text}' is no range; ranges are written any, 8, 2-8, 64k- or -16k");
        let number = |text: &str| parse_number(text).ok_or_else(wrong);
        let bounds = match text.split_once('-') {
            None if text == "any" => NumberRange::ANY,
            None => number(text).map(|number| NumberRange { min: number, max: number })?,
            Some(("", "")) => return Err(wrong()),
            Some((min, "")) => NumberRange::from(number(min)?),
            Some(("", max)) => NumberRange::up_to(number(max)?),
            Some((min, max)) => NumberRange { min: number(min)?, max: number(max)? },
        };
        if bounds.min > bounds.max {
            return Err(format!("the range {text} is empty: it must begin with the smaller number"));
        }
        Ok(bounds)
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match (self.min, self.max) {
            (0, u64::MAX) => "any".into(),
            (min, u64::MAX) => format!("{}-", number(min)),
            (min, max) if min == max => number(min),
            (0, max) => format!("-{}", number(max)),
            (min, max) => format!("{}-{}", number(min), number(max)),
        };
        f.pad(&text)
    }
}

/// `4096`, `4k`, `1M`.
pub(super) fn parse_number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let suffix = SUFFIXES.iter().find(|(letter, _)| lower.ends_with(*letter));
    let (digits, shift) = suffix.map_or((&*lower, 0), |&(_, shift)| (&lower[..lower.len() - 1], shift));
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    plain.then(|| digits.parse::<u64>().ok()?.checked_mul(1 << shift)).flatten()
}

/// The shortest way to write a number.
pub(super) fn number(number: u64) -> String {
    let whole = |&&(_, shift): &&(char, u32)| number > 0 && number % (1 << shift) == 0;
    match SUFFIXES.iter().find(whole) {
        Some((letter, shift)) => format!("{}{letter}", number >> shift),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        for text in ["any", "8", "2-8", "64k-", "-16k", "0", "1-3m", "-1g"] {
            assert_eq!(NumberRange::parse(text).map(|bounds| bounds.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(NumberRange::parse("1024-2048"), Ok(NumberRange { min: 1 << 10, max: 2 << 10 }));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "-", "x", "1x", "k", "-k", "+1", "1-2-3", "99999999999999999999", "17179869184g"] {
            assert!(NumberRange::parse(text).unwrap_err().contains(text), "{text}");
        }
        assert!(NumberRange::parse("8-2").unwrap_err().contains("empty"));
    }

    #[test]
    fn both_ends_belong_to_a_range() {
        let bounds = NumberRange { min: 2, max: 4 };
        assert_eq!([1, 2, 4, 5].map(|number| bounds.contains(number)), [false, true, true, false]);
    }
}
