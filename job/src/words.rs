//! Words that a person may have misspelled.

/// The name that is most like `word`, unless none is.
pub fn closest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let tolerated = if word.len() <= 3 { 1 } else { 2 };
    let scored = names.map(|name| (distance(word, name), name));
    scored
        .filter(|&(distance, name)| distance <= tolerated && distance < name.len())
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's: how many letters to add, drop or change.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.bytes().enumerate() {
            let change = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_near() {
        let names = ["timeout", "stdin", "n", "np"];
        assert_eq!(closest("timout", names.into_iter()), Some("timeout"));
        assert_eq!(closest("stdn", names.into_iter()), Some("stdin"));
        assert_eq!(closest("frobnicate", names.into_iter()), None);
        assert_eq!(closest("q", names.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
