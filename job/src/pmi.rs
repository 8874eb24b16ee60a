//! PMI-1, the protocol in which the launchers of MPICH and its relatives talk with ranks: lines of `name=value` words over a
//! socket that the rank inherits (`PMI_FD`). `mpirun` serves it ([`PmiLine`], [`mapping`]), so that programs of those
//! libraries run under it; the client is how a program of Tern runs under those launchers.

use std::fmt::Write;

use crate::node_map::NodeMap;

/// The descriptor of the socket to the launcher.
pub const FD_VARIABLE: &str = "PMI_FD";
/// Where the launcher listens instead, as `HOST:PORT`: Hydra's option `-pmi-port`.
pub const PORT_VARIABLE: &str = "PMI_PORT";
/// The number by which such a launcher knows this process.
pub const ID_VARIABLE: &str = "PMI_ID";
/// This process's rank.
pub const RANK_VARIABLE: &str = "PMI_RANK";
/// Number of ranks.
pub const SIZE_VARIABLE: &str = "PMI_SIZE";
/// The variable with the rank's number among those of its host, from 0, by which scripts choose a device. MPICH's name.
pub const LOCAL_RANK_VARIABLE: &str = "MPI_LOCALRANKID";
/// That with the number of these ranks.
pub const LOCAL_SIZE_VARIABLE: &str = "MPI_LOCALNRANKS";

/// Says that another program has started this one.
pub const SPAWNED_VARIABLE: &str = "PMI_SPAWNED";

/// The key under which a launcher says which ranks share a host.
pub const MAPPING_KEY: &str = "PMI_process_mapping";

/// One line: a command with its values. Values hold no blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PmiLine<'a>(&'a str);

impl<'a> PmiLine<'a> {
    /// Without the line's end.
    pub fn new(text: &'a str) -> PmiLine<'a> {
        PmiLine(text.trim_end())
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let mut words = self.0.split(' ');
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// The command.
    pub fn command(&self) -> &'a str {
        self.get("cmd").unwrap_or_default()
    }

    /// The text.
    pub fn text(&self) -> &'a str {
        self.0
    }
}

/// Text in which no line, no word and no pair ends: what would end one is written as `%` and two digits.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | b'=' | 0..=b' ' | 0x7f.. => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "%{byte:02x}");
            }
            _ => escaped.push(byte.into()),
        }
    }
    escaped
}

/// What [`escape`] has written; `None` if it has not.
pub fn unescape(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_first_chunk::<2>()?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// The value of [`MAPPING_KEY`] for a job: `(vector,(first host,hosts,ranks on each),…)`, which is read again from its start
/// when it is used up.
pub fn mapping(places: &NodeMap) -> String {
    let mut blocks: Vec<(u32, u32, u32)> = Vec::new();
    let ends = places.runs().iter().skip(1).map(|run| run.first).chain([places.size()]);
    for (run, end) in places.runs().iter().zip(ends) {
        let ranks = end - run.first;
        match blocks.last_mut() {
            Some((first, hosts, each)) if *each == ranks && *first + *hosts == run.host => *hosts += 1,
            _ => blocks.push((run.host, 1, ranks)),
        }
    }
    if blocks.windows(2).all(|pair| pair[0] == pair[1]) {
        blocks.truncate(1);
    }
    let mut text = String::from("(vector");
    for (first, hosts, each) in blocks {
        // Writing to a string cannot fail.
        let _ = write!(text, ",({first},{hosts},{each})");
    }
    text + ")"
}

/// The places that a mapping describes, for a job of `size` ranks; `None` if it makes no sense.
pub fn parse_mapping(text: &str, size: u32) -> Option<NodeMap> {
    let list = text.trim().strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut blocks = Vec::new();
    for block in list.split("),") {
        let mut numbers =
            block.trim_start_matches('(').trim_end_matches(')').split(',').map(str::parse::<u32>);
        let (Some(Ok(first)), Some(Ok(hosts)), Some(Ok(each)), None) =
            (numbers.next(), numbers.next(), numbers.next(), numbers.next())
        else {
            return None;
        };
        // A host has a rank, and no number of a host is larger than all ranks.
        if hosts == 0 || each == 0 || first.checked_add(hosts)? > size {
            return None;
        }
        blocks.push((first, hosts, each));
    }
    let one_round = blocks.iter().flat_map(|&(first, hosts, each)| {
        (first..first + hosts).flat_map(move |host| std::iter::repeat_n(host, each as usize))
    });
    (!blocks.is_empty()).then(|| NodeMap::of(one_round.cycle().take(size as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn of(hosts: &[u32]) -> NodeMap {
        NodeMap::of(hosts.iter().copied())
    }

    #[test]
    fn words_of_a_line() {
        let line = PmiLine::new("cmd=get_result rc=0 msg=success value=a=b,c\n");
        assert_eq!((line.command(), line.get("value")), ("get_result", Some("a=b,c")));
        assert_eq!((line.get("val"), PmiLine::new("").command()), (None, ""));
    }

    #[test]
    fn mappings_are_read_as_they_are_written() {
        for (hosts, text) in [
            (&[0, 0, 0, 0][..], "(vector,(0,1,4))"),
            (&[0, 0, 1, 1, 2, 2], "(vector,(0,3,2))"),
            (&[0, 1, 2, 0, 1, 2], "(vector,(0,3,1))"),
            (&[0, 0, 1, 2, 2], "(vector,(0,1,2),(1,1,1),(2,1,2))"),
            (&[0, 1, 0, 1, 2, 2], "(vector,(0,2,1),(0,2,1),(2,1,2))"),
        ] {
            assert_eq!(mapping(&of(hosts)), text);
            assert_eq!(parse_mapping(text, hosts.len() as u32), Some(of(hosts)));
        }
        assert_eq!(parse_mapping("(vector,(0,2,1))", 5), Some(of(&[0, 1, 0, 1, 0])));
    }

    proptest! {
        #[test]
        fn escaped_text_is_one_word_and_comes_back(text in ".*") {
            let escaped = escape(&text);
            prop_assert!(escaped.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'='));
            prop_assert_eq!(unescape(&escaped), Some(text.clone()));
            let _ = unescape(&text);
        }

        #[test]
        fn places_survive_a_mapping(hosts in vec(0..4_u32, 1..20)) {
            // Hosts are numbered in the order in which they first occur.
            let mut seen: Vec<u32> = Vec::new();
            let numbered = hosts.iter().map(|host| {
                seen.iter().position(|other| other == host).unwrap_or_else(|| {
                    seen.push(*host);
                    seen.len() - 1
                }) as u32
            });
            let places = NodeMap::of(numbered.collect::<Vec<_>>().into_iter());
            prop_assert_eq!(parse_mapping(&mapping(&places), places.size()), Some(places));
        }

        #[test]
        fn any_text_is_a_mapping_or_none(text in "[(]?(vector,)?[(),0-9]{0,40}[)]?", size in 1..50_u32) {
            if let Some(places) = parse_mapping(&text, size) {
                prop_assert_eq!(places.size(), size);
                prop_assert!((0..size).all(|rank| places.host_of(rank) < places.hosts()));
            }
        }
    }

    #[test]
    fn senseless_mappings_are_refused() {
        for text in [
            "",
            "(vector)",
            "(vector,)",
            "(vector,(0,0,1))",
            "(vector,(0,1,0))",
            "(vector,(9,1,1))",
            "(vector,(0,4294967295,1))",
            "(vector,(4294967295,2,1))",
            "(vector,(0,1))",
            "(vector,(0,1,1,1))",
            "(0,1,1)",
        ] {
            assert_eq!(parse_mapping(text, 4), None, "{text}");
        }
    }
}
