//! What `--bind-to`, `--map-by` and `--rank-by` ask for within a host.

use serde::{Deserialize, Serialize};
use tern_job::limits::PROCESSORS_MAX;
use tern_job::ranges;
use tern_job::topology::Level;

use crate::plan::map_by::{MapBy, parse_count};
use crate::plan::rankfile::RankSlots;
use crate::watch::exit_cause::Refusal;

/// The names of parts of a host. The first name of each is the one that messages have.
const NAMES: [(&str, Level); 10] = [
    ("hwthread", Level::HwThread),
    ("core", Level::Core),
    ("l1cache", Level::L1Cache),
    ("l2cache", Level::L2Cache),
    ("l3cache", Level::L3Cache),
    ("numa", Level::Numa),
    ("socket", Level::Socket),
    ("package", Level::Socket),
    ("board", Level::Machine),
    ("machine", Level::Machine),
];

/// The part with this name.
pub(crate) fn parse_part(name: &str) -> Option<Level> {
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, level)| *level)
}

/// All names, for messages.
pub(crate) fn names_of_parts() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

/// The name of a part.
pub(crate) fn name_of(level: Level) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == level).map_or("machine", |(name, _)| name)
}

/// In which order the ranks of a host take its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BindOrder {
    /// One after the other.
    #[default]
    InTurn,
    /// The first of each of these parts, then the second.
    Round(Level),
    /// So many in each of these parts.
    Blocks(u32, Level),
    /// First those whose memory is nearest to this device.
    Near(String),
}

impl BindOrder {
    /// Reads what `--map-by` says, without what follows the last colon but in `ppr:N:PART` and `dist:DEVICE`.
    pub(crate) fn parse(value: &str) -> Result<(MapBy, BindOrder), Refusal> {
        if let Some(part) = parse_part(value) {
            return Ok((MapBy::Slot, BindOrder::Round(part)));
        }
        if let Some(device) = value.strip_prefix("dist:").filter(|device| !device.is_empty()) {
            return Ok((MapBy::Slot, BindOrder::Near(device.into())));
        }
        let per_part = value.strip_prefix("ppr:").and_then(|rest| rest.split_once(':'));
        if let Some((number, part)) = per_part
            && let Some((number, part)) = parse_count(number).zip(parse_part(part))
        {
            return Ok((MapBy::PerPart(number, part), BindOrder::Blocks(number, part)));
        }
        MapBy::parse(value).map(|map_by| (map_by, BindOrder::InTurn))
    }

    /// To what ranks are bound in this order, unless the user says.
    fn natural_binding(&self) -> Option<Level> {
        match self {
            BindOrder::InTurn => None,
            BindOrder::Round(part) | BindOrder::Blocks(_, part) => Some(*part),
            BindOrder::Near(_) => Some(Level::Numa),
        }
    }
}

/// What becomes of ranks that have to share what each should have alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Overload {
    /// They run, and a line says so.
    #[default]
    Told,
    /// They run, as the user wants it.
    Allowed,
    /// They are not started.
    Refused,
}

/// How ranks are bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bind {
    /// To a part of which level; `None` is to nothing.
    pub to: Option<Level>,
    /// The user has said that.
    pub is_said: bool,
    /// To how many of them each rank is bound; 0 is one.
    pub width: u32,
    /// What if there are too few.
    pub overload: Overload,
    /// In which order they take these parts.
    pub order: BindOrder,
    /// Whether the ranks of a host are numbered round its parts.
    pub rank_by: Option<Level>,
    /// Only these processors are used; all, if there are none.
    pub cpus: Vec<u32>,
    /// The processors of each rank of a host in turn, where the user names them one by one.
    pub lists: Vec<Vec<u32>>,
    /// The processors of each rank of the job, where a rank file names them.
    pub by_rank: Vec<RankSlots>,
    /// Whether a hardware thread counts as a core.
    pub threads: bool,
}

impl Bind {
    /// Takes the value of `--bind-to`, with what others know behind a colon.
    pub(crate) fn take(&mut self, value: &str) -> Result<(), Refusal> {
        let (to, qualifiers) = value.split_once(':').unwrap_or((value, ""));
        (self.is_said, self.overload) = (true, Overload::Told);
        self.lists.clear();
        match to.to_ascii_lowercase().as_str() {
            "none" => self.to = None,
            "user" => return self.take_lists(qualifiers, value),
            // MPICH's round of the processors.
            "rr" => self.to = Some(Level::HwThread),
            _ => self.to = Some(parse_part(to).ok_or_else(|| unknown(value))?),
        }
        qualifiers.split(':').try_for_each(|qualifier| self.qualify(qualifier, value))
    }

    fn qualify(&mut self, qualifier: &str, value: &str) -> Result<(), Refusal> {
        match qualifier.to_ascii_lowercase().as_str() {
            "overload-allowed" => self.overload = Overload::Allowed,
            "no-overload" => self.overload = Overload::Refused,
            "" | "if-supported" => {}
            number => {
                self.width = parse_count(number).ok_or_else(|| {
                    Refusal::usage(format!(
                        "option --bind-to: '{qualifier}' in '{value}' is none of overload-allowed, no-overload, \
                         if-supported, or a number from 1"
                    ))
                })?;
            }
        }
        Ok(())
    }

    /// `user:0+8,1+9`: the processors of each rank.
    fn take_lists(&mut self, lists: &str, value: &str) -> Result<(), Refusal> {
        let list = |text: &str| ranges::parse(&text.replace('+', ","), PROCESSORS_MAX);
        let lists: Option<Vec<_>> = lists.split(',').map(list).collect();
        self.lists = lists.ok_or_else(|| {
            Refusal::usage(format!(
                "option --bind-to: '{value}' does not name the processors of each rank, as in user:0+8,1+9"
            ))
        })?;
        Ok(())
    }

    /// The order of `--map-by`. Ranks are bound to the parts that it names, unless the user says otherwise.
    pub(crate) fn set_order(&mut self, order: BindOrder) {
        if !self.is_said {
            self.to = order.natural_binding();
        }
        self.order = order;
    }

    /// Each rank gets so many cores, or so many of what `--bind-to` names.
    pub(crate) fn widen(&mut self, width: u32) {
        self.width = width;
        if !self.is_said {
            (self.to, self.is_said) = (Some(Level::Core), true);
        }
    }

    /// Whether the user wants ranks to be free.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_said && self.to.is_none() && self.lists.is_empty()
    }

    /// The part that `--map-by` names in vain, since ranks are not bound.
    pub(crate) fn ineffective_order(&self) -> Option<&'static str> {
        match self.to {
            None => self.order.natural_binding().map(name_of),
            Some(_) => None,
        }
    }

    /// The level of the parts to which ranks are bound: a core may be meant as one hardware thread.
    pub(crate) fn level(&self) -> Option<Level> {
        self.to.map(|level| if self.threads && level == Level::Core { Level::HwThread } else { level })
    }
}

fn unknown(value: &str) -> Refusal {
    Refusal::usage(format!("option --bind-to: '{value}' is none of none, user:LIST, {}", names_of_parts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(value: &str) -> Result<Bind, Refusal> {
        let mut bind = Bind::default();
        bind.take(value).map(|()| bind)
    }

    #[test]
    fn values_of_the_option() {
        let bind = bound("core:overload-allowed").unwrap();
        assert_eq!((bind.to, bind.width, bind.overload), (Some(Level::Core), 0, Overload::Allowed));
        assert_eq!(bound("socket:2").unwrap().width, 2);
        assert_eq!((bound("NONE").unwrap().to, bound("Core").unwrap().to), (None, Some(Level::Core)));
        assert_eq!(bound("rr").unwrap().to, Some(Level::HwThread));
        assert_eq!(bound("USER:0").unwrap().lists, [vec![0]]);
        assert_eq!(bound("numa:no-overload").unwrap().overload, Overload::Refused);
        assert_eq!(bound("board").unwrap().to, Some(Level::Machine));
        assert_eq!(bound("user:0+8,1,2-3").unwrap().lists, [vec![0, 8], vec![1], vec![2, 3]]);
        for bad in ["core:nonsense", "core:0", "cor", "user:", "user:x", "user:0,,1", ""] {
            assert!(bound(bad).unwrap_err().to_string().contains(&format!("'{bad}'")), "{bad}");
        }
    }

    #[test]
    fn ranks_are_bound_to_what_they_are_mapped_by() {
        let mut bind = Bind::default();
        bind.set_order(BindOrder::Round(Level::Numa));
        assert_eq!((bind.to, bind.ineffective_order()), (Some(Level::Numa), None));
        bind.set_order(BindOrder::InTurn);
        assert_eq!(bind.to, None);
        bind.take("none").unwrap();
        bind.set_order(BindOrder::Round(Level::L3Cache));
        assert_eq!((bind.to, bind.ineffective_order()), (None, Some("l3cache")));
    }

    #[test]
    fn a_rank_has_so_many_cores_or_threads() {
        let mut bind = Bind::default();
        bind.widen(2);
        assert_eq!((bind.level(), bind.width), (Some(Level::Core), 2));
        bind.threads = true;
        assert_eq!(bind.level(), Some(Level::HwThread));
        bind.take("socket").unwrap();
        assert_eq!((bind.level(), bind.width), (Some(Level::Socket), 2));
    }

    #[test]
    fn orders_by_device_and_by_part() {
        assert_eq!(BindOrder::parse("dist:mlx5_0").unwrap().1, BindOrder::Near("mlx5_0".into()));
        assert_eq!(
            BindOrder::parse("ppr:2:numa").unwrap(),
            (MapBy::PerPart(2, Level::Numa), BindOrder::Blocks(2, Level::Numa))
        );
        assert!(BindOrder::parse("dist").is_err() && BindOrder::parse("ppr:0:numa").is_err());
    }
}
