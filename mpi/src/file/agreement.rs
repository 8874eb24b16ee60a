//! What the ranks of a file agree about: what each has passed, and whether all went well.

use super::facts::FileFacts;
use super::fault::of_rank;
use crate::comm::agree::{Participants, SourceNumbering, number, record};
use crate::core::error::{Result, fail};
use crate::limits::AGREEMENT_TAG;
use std::ffi::c_int;
use tern_abi::*;

impl FileFacts {
    /// Where its ranks agree about something.
    pub(crate) fn participants(&self, call: &'static str) -> Participants {
        let context = self.context | crate::comm::object::Lane::Local as u64;
        Participants {
            call,
            group: self.group.clone(),
            rank: self.me,
            context,
            tag: AGREEMENT_TAG,
            numbering: SourceNumbering::Ranks,
        }
    }
}

/// What every rank has told, where none has an error.
pub(super) type ToldByAll = Vec<Vec<u64>>;

/// All ranks tell some numbers, and an error if they have one. Where one has, all have: their own, or that of the first rank that has one.
pub(super) fn agree<T>(
    participants: &Participants,
    mine: Result<T>,
    numbers: &[u64],
) -> Result<(T, ToldByAll)> {
    let class = mine.as_ref().err().map_or(MPI_SUCCESS, |error| error.class());
    let mut words = vec![class as u64];
    words.extend_from_slice(numbers);
    let all = participants.allgather(&record(&words))?;
    let told: ToldByAll = all
        .chunks_exact(8 * words.len())
        .map(|words| (0..words.len() / 8).map(|at| number(words, 8 * at)).collect())
        .collect();
    let Some(first) = told.iter().position(|words| words[0] != 0) else {
        let told = told.into_iter().map(|words| words[1..].to_vec()).collect();
        return mine.map(|mine| (mine, told));
    };
    let text = mine.as_ref().err().map_or("", |error| error.text());
    let texts = participants.allgather_any_length(text.as_bytes())?;
    match mine {
        Err(error) => Err(error),
        Ok(_) => Err(of_rank(first, told[first][0] as c_int, &String::from_utf8_lossy(&texts[first]))),
    }
}

/// All ranks must have told the same.
pub(super) fn expect_same<T>(mine: T, told: &ToldByAll) -> Result<T> {
    match told.iter().position(|words| *words != told[0]) {
        None => Ok(mine),
        Some(rank) => Err(fail(
            MPI_ERR_NOT_SAME,
            format!("ranks 0 and {rank} passed different arguments, which must be the same at all ranks"),
        )),
    }
}

/// All ranks arrive; then rank 0 does something for all; then all know how it ended.
pub(super) fn once<T>(
    call: &'static str,
    facts: &FileFacts,
    (mine, numbers): (Result<T>, &[u64]),
    work: impl FnOnce(&T) -> Result,
) -> Result<T> {
    let participants = facts.participants(call);
    let (mine, told) = agree(&participants, mine, numbers)?;
    let mine = expect_same(mine, &told)?;
    let done = if facts.me == 0 { work(&mine) } else { Ok(()) };
    agree(&participants, done, &[]).map(|_| mine)
}
