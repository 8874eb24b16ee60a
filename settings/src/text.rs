//! Values as words.

use super::ValueFault;

/// Suffixes of numbers, with the power of two that each stands for; the largest first.
const SUFFIXES: [(char, u32); 3] = [('g', 30), ('m', 20), ('k', 10)];

/// `4096`, `4k`, `1M`: at most what 32 bits hold, which is more than any setting can use.
pub(super) fn parse_number(text: &str) -> Result<u32, ValueFault> {
    let lower = text.to_ascii_lowercase();
    let suffix = SUFFIXES.iter().find(|(letter, _)| lower.ends_with(*letter));
    let (number, shift) = suffix.map_or((&*lower, 0), |&(_, shift)| (&lower[..lower.len() - 1], shift));
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(ValueFault::Unknown);
    }
    // What is not even a u64 is below zero or too large.
    let number = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.and_then(|number| u32::try_from(number).ok()).ok_or(ValueFault::OutOfRange)
}

/// The shortest way to write a number.
pub(super) fn number(number: u64) -> String {
    let whole = |&&(_, shift): &&(char, u32)| number > 0 && number % (1 << shift) == 0;
    match SUFFIXES.iter().find(whole) {
        Some((letter, shift)) => format!("{}{letter}", number >> shift),
        None => number.to_string(),
    }
}

pub(super) fn parse_switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

pub(super) fn index_of(words: &[&str], text: &str) -> Option<usize> {
    words.iter().position(|word| *word == text)
}

/// `a, b or c`.
pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        _ => words.concat(),
    }
}
