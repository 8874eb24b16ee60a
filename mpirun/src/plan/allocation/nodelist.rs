//! Slurm's lists: of nodes, as `n[1-3,07-12],m`, and of numbers for them, as `2(x3),1`.

use tern_job::limits::HOSTS_MAX;

/// The names of a list of nodes; `None` if it makes no sense or names too many.
pub(crate) fn nodes(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for word in words(list)? {
        names.extend(expand(word)?);
        if names.len() > HOSTS_MAX as usize {
            return None;
        }
    }
    (!names.is_empty()).then_some(names)
}

/// The words between commas that are in no brackets.
fn words(list: &str) -> Option<Vec<&str>> {
    let (mut words, mut inside, mut start) = (Vec::new(), false, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if !inside => inside = true,
            ']' if inside => inside = false,
            '[' | ']' => return None,
            ',' if !inside => {
                words.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(list[start..].trim());
    let sound = !inside && words.iter().all(|word| !word.is_empty());
    sound.then_some(words)
}

/// `r[1-2]n[01-03]-ib`: the last bracket runs fastest.
fn expand(word: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('[') {
        let (ranges, after) = after.split_once(']')?;
        let numbers = numbers(ranges)?;
        if names.len() * numbers.len() > HOSTS_MAX as usize {
            return None;
        }
        let with = |name: &String| {
            let name = format!("{name}{before}");
            numbers.iter().map(move |number| format!("{name}{number}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(with).collect();
        rest = after;
    }
    let odd = |letter: char| letter.is_whitespace() || letter.is_control() || "/()".contains(letter);
    let usable = !word.starts_with('-') && !word.contains(odd);
    usable.then(|| names.into_iter().map(|name| name + rest).collect())
}

/// `1-3,07-12` with the zeros in front.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (number(first)?, number(last)?);
        if from > to || to - from >= u64::from(HOSTS_MAX) || numbers.len() > HOSTS_MAX as usize {
            return None;
        }
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// One number for each of `count` nodes, of `2(x3),1`; `None` if it is for another number of nodes.
pub(crate) fn repeated(list: &str, count: usize) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for word in list.split(',') {
        let (number, times) = match word.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (word, 1_usize),
        };
        if times == 0 || times > count.saturating_sub(numbers.len()) {
            return None;
        }
        numbers.extend(std::iter::repeat_n(number.trim().parse::<u32>().ok()?, times));
    }
    (numbers.len() == count).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str) -> String {
        nodes(list).map(|names| names.join(" ")).unwrap_or_default()
    }

    #[test]
    fn nodes_in_all_forms() {
        for (list, names) in [
            ("n1", "n1"),
            ("a,b", "a b"),
            ("n[1-3,07-08],m", "n1 n2 n3 n07 n08 m"),
            ("n[098-101]", "n098 n099 n100 n101"),
            ("r[1-2]n[0-1]", "r1n0 r1n1 r2n0 r2n1"),
            ("n[1-2]-ib.site.org", "n1-ib.site.org n2-ib.site.org"),
            ("gpu-a,gpu-b[3]", "gpu-a gpu-b3"),
        ] {
            assert_eq!(of(list), names, "{list}");
        }
    }

    #[test]
    fn senseless_lists_are_none() {
        for list in [
            "",
            ",",
            "a,",
            "n[",
            "n]",
            "n[]",
            "n[3-1]",
            "n[1-x]",
            "n[1-]",
            "n[[1]]",
            "n[1-99999999]",
            "-oProxyCommand=x",
            "a b,c",
            "(null)",
            "n[+1]",
            "r[0-9999]n[0-9999]",
        ] {
            assert_eq!(nodes(list), None, "{list}");
        }
    }

    #[test]
    fn numbers_are_repeated() {
        assert_eq!(repeated("2(x3),1", 4), Some(vec![2, 2, 2, 1]));
        assert_eq!(repeated("4", 1), Some(vec![4]));
        for bad in ["2(x3)", "2(x5)", "2,,1,1", "x(x4)", "2(x0),1(x4)", "2(x4", ""] {
            assert_eq!(repeated(bad, 4), None, "{bad}");
        }
    }
}
