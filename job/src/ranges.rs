//! Lists of ranks as texts: `0-3,8`.

use std::fmt::Write;

/// Numbers in ascending order as `0-3,8`.
pub fn to_text(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some((&first, _)) = rest.split_first() {
        let count = (0..)
            .zip(rest)
            .take_while(|(offset, number)| first.checked_add(*offset) == Some(**number))
            .count();
        let last = rest[count - 1];
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ =
            if count == 1 { write!(text, "{comma}{first}") } else { write!(text, "{comma}{first}-{last}") };
        rest = &rest[count..];
    }
    text
}

/// What [`to_text`] has written, or a launcher, in any order: numbers below `limit`, none of them twice.
pub fn parse(text: &str, limit: u32) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= limit || numbers.len() + (last - first) as usize >= limit as usize {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.windows(2).all(|pair| pair[0] < pair[1]).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    #[test]
    fn lists_in_all_forms() {
        assert_eq!(to_text(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(parse("0-3,8", 9), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse("0,1,2", 3), Some(vec![0, 1, 2]));
        assert_eq!(parse("3,0-1", 9), Some(vec![0, 1, 3]));
        for bad in ["", "1,", "2-1", "1,1", "0-9", "x", "0-4294967295"] {
            assert_eq!(parse(bad, 9), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn lists_survive(numbers in btree_set(0..100_u32, 1..40)) {
            let numbers: Vec<u32> = numbers.into_iter().collect();
            prop_assert_eq!(parse(&to_text(&numbers), 100), Some(numbers));
        }
    }
}
