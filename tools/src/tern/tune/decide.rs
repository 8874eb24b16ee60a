//! From measurements to rows. What is chosen without a table stays unless something else is clearly faster: by its
//! median, and also its slow repetitions must be faster than the fast ones without a table. So on a machine that is busy
//! with other things, where times scatter, nothing changes.

use tern_coll::table::NumberRange;
use tern_coll::{Choice, Collective, TableRow};

/// Something else must take at most this part of the time.
const CLEARLY: f64 = 0.9;

/// Measured once more, it must take at most this part: the best of many is usually best by chance, too.
const STILL_CLEARLY: f64 = 0.95;

/// Times of one size, seconds, one for each repetition.
pub(super) type Times = Vec<f64>;

/// What takes less time than without a table at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Winner {
    /// The size, bytes.
    pub bytes: u64,
    /// What to use.
    pub choice: Choice,
    /// Time without a table, seconds; the median.
    pub before_s: f64,
    /// Time with it.
    pub after_s: f64,
}

/// The best of the candidates at one size, if it is clearly faster.
pub(super) fn best(bytes: u64, without: &Times, candidates: &[(Choice, Times)]) -> Option<Winner> {
    let ratio = |times: &Times| median(ratios(times, without));
    let faster = candidates.iter().filter(|(_, times)| is_faster(times, without, CLEARLY));
    let (choice, times) = faster.min_by(|(_, a), (_, b)| ratio(a).total_cmp(&ratio(b)))?;
    Some(Winner { bytes, choice: *choice, before_s: median(without.clone()), after_s: median(times.clone()) })
}

/// Whether a second measurement agrees.
pub(super) fn is_confirmed(without: &Times, with: &Times) -> bool {
    is_faster(with, without, STILL_CLEARLY)
}

/// Whether the median of the ratios is at most `most`, and all repetitions but one in five are faster than all but one in
/// five without a table.
fn is_faster(times: &Times, without: &Times, most: f64) -> bool {
    let all = !times.is_empty() && times.len() == without.len();
    let set_aside = times.len() / 5;
    all && sorted(times)[times.len() - 1 - set_aside] < sorted(without)[set_aside]
        && median(ratios(times, without)) <= most
}

fn sorted(times: &Times) -> Times {
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn ratios(times: &Times, without: &Times) -> Vec<f64> {
    times.iter().zip(without).map(|(time, without)| time / without).collect()
}

/// The middle one.
pub(super) fn median(numbers: Vec<f64>) -> f64 {
    sorted(&numbers).get(numbers.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// The winners of one collective and number of ranks as rows, with the sizes that each was found at. Between two sizes
/// with different winners the border is in the middle, by ratio. Beyond the largest size nothing is said.
pub(super) fn rows(
    collective: Collective,
    ranks: NumberRange,
    sizes: &[u64],
    winners: &[Winner],
) -> Vec<(TableRow, Vec<Winner>)> {
    let at = |bytes: u64| winners.iter().find(|winner| winner.bytes == bytes);
    let mut rows: Vec<(TableRow, Vec<Winner>)> = Vec::new();
    for (index, bytes) in sizes.iter().enumerate() {
        let Some(winner) = at(*bytes) else { continue };
        let before = index.checked_sub(1).map(|index| sizes[index]);
        let max = sizes.get(index + 1).map_or(*bytes, |next| middle(*bytes, *next));
        let goes_on = before.and_then(at).is_some_and(|before| before.choice == winner.choice);
        if let Some((row, found)) = rows.last_mut().filter(|_| goes_on) {
            row.bytes.max = max;
            found.push(*winner);
        } else {
            let min = before.map_or(0, |before| middle(before, *bytes) + 1);
            let one_node = NumberRange { min: 1, max: 1 };
            let bytes = NumberRange { min, max };
            let row = TableRow { collective, bytes, ranks, nodes: one_node, choice: winner.choice };
            rows.push((row, vec![*winner]));
        }
    }
    rows
}

/// The geometric mean, with two significant bits, so that tables are readable.
fn middle(a: u64, b: u64) -> u64 {
    let exact = ((a as f64) * (b as f64)).sqrt() as u64;
    let low = exact.max(1).ilog2().saturating_sub(1);
    (exact >> low) << low
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_coll::Algorithm;

    const RING: Choice = Choice { algorithm: Algorithm::Ring, segment_bytes: 0 };
    const BRUCK: Choice = Choice { algorithm: Algorithm::Bruck, segment_bytes: 0 };

    fn winner(bytes: u64, choice: Choice) -> Winner {
        Winner { bytes, choice, before_s: 2.0, after_s: 1.0 }
    }

    #[test]
    fn noise_changes_nothing() {
        let without = vec![1.0, 1.1, 0.9, 1.05, 1.0];
        let alike = vec![0.95, 1.0, 1.0, 0.9, 0.97];
        let unsteady = vec![0.1, 0.1, 1.2, 1.3, 0.1];
        assert_eq!(best(8, &without, &[(RING, alike), (BRUCK, unsteady)]), None);
        // Each time one was disturbed and the other was not.
        assert_eq!(best(8, &vec![9.0, 8.0, 1.0], &[(RING, vec![1.1, 1.0, 0.8])]), None);
    }

    #[test]
    fn the_clearly_faster_and_fastest_wins() {
        let without = vec![1.0, 1.2, 1.0, 1.1, 1.0];
        let ring = vec![0.8, 0.9, 0.8, 0.8, 0.8];
        let bruck = vec![0.5, 0.6, 0.5, 1.3, 0.5];
        let found = best(8, &without, &[(RING, ring), (BRUCK, bruck)]).expect("both are faster");
        assert_eq!((found.choice, found.before_s, found.after_s), (BRUCK, 1.0, 0.5));
    }

    #[test]
    fn what_was_given_up_early_does_not_win() {
        assert_eq!(best(8, &vec![1.0; 5], &[(RING, vec![0.1])]), None);
        assert_eq!(best(8, &vec![], &[(RING, vec![])]), None);
    }

    #[test]
    fn the_second_measurement_decides() {
        assert!(is_confirmed(&vec![1.0; 3], &vec![0.9, 0.94, 0.9]));
        assert!(!is_confirmed(&vec![1.0; 3], &vec![0.97; 3]));
    }

    #[test]
    fn neighboring_sizes_with_one_choice_are_one_row() {
        let ranks = NumberRange { min: 3, max: 4 };
        let sizes = [8, 128, 2048, 32768];
        let winners = [winner(8, RING), winner(128, RING), winner(32768, BRUCK)];
        let rows = rows(Collective::Allgather, ranks, &sizes, &winners);
        let text: Vec<_> = rows.iter().map(|(row, found)| (row.bytes, row.choice, found.len())).collect();
        assert_eq!(
            text,
            [(NumberRange { min: 0, max: 512 }, RING, 2), (NumberRange { min: 8193, max: 32768 }, BRUCK, 1)]
        );
        assert_eq!(rows[0].0.ranks, ranks);
    }

    #[test]
    fn a_barrier_has_no_sizes() {
        let rows = rows(Collective::Barrier, NumberRange { min: 2, max: 2 }, &[0], &[winner(0, RING)]);
        assert_eq!(rows[0].0.bytes, NumberRange { min: 0, max: 0 });
    }
}
