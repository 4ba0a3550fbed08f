//! Which code points of an over-long result stay: arithmetic over the lengths of its text blocks.
//!
//! No text passes through here. A carrier (UTF-8, a raw JSON string, a Python string) measures its blocks, asks a
//! [`Budget`] for the [`Plan`] and copies what each [`Piece`] keeps; since all of them copy by one plan, all cut alike.

use thiserror::Error;

/// How much of a result may stand uncut, and how much of a longer one stays, in code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    threshold: u64,
    head: u64,
    tail: u64,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BudgetError {
    /// Nothing is within a threshold of zero, not even the result of a cut that keeps nothing.
    #[error("threshold must be at least 1 code point, not 0")]
    ZeroThreshold,
    /// What a cut leaves must be within the threshold, or a second pass would cut it again.
    #[error("head + marker + tail are {kept} code points, over the threshold of {threshold}: raise it or keep less")]
    KeepsTooMuch {
        /// head + marker + tail, in a type that holds any sum of the three
        kept: u128,
        /// the most they may be
        threshold: u64,
    },
    /// Only lengths that no memory holds can sum to this; said because a wrapped sum would cut in the wrong place.
    #[error("the text blocks together are longer than 2^64 - 1 code points")]
    TooLong,
}

impl Budget {
    /// A budget for cuts whose marker is `marker` code points long.
    ///
    /// # Errors
    /// [`BudgetError::ZeroThreshold`], or [`BudgetError::KeepsTooMuch`] when `head + marker + tail > threshold`.
    pub fn new(threshold: u64, head: u64, tail: u64, marker: u64) -> Result<Self, BudgetError> {
        if threshold == 0 {
            return Err(BudgetError::ZeroThreshold);
        }
        let kept = u128::from(head) + u128::from(marker) + u128::from(tail);
        if kept > u128::from(threshold) {
            return Err(BudgetError::KeepsTooMuch { kept, threshold });
        }
        Ok(Self { threshold, head, tail })
    }

    /// The plan for text blocks of these lengths, in order; `None` when they are within the threshold.
    ///
    /// # Errors
    /// [`BudgetError::TooLong`] when the lengths sum past `u64`.
    pub fn plan(&self, lengths: &[u64]) -> Result<Option<Plan>, BudgetError> {
        let total =
            lengths.iter().try_fold(0_u64, |sum, &length| sum.checked_add(length)).ok_or(BudgetError::TooLong)?;
        // The tail is within the threshold, which the total exceeds: the difference cannot wrap.
        Ok((total > self.threshold).then(|| Plan { gap_start: self.head, gap_end: total - self.tail, total }))
    }

    /// The digits of how many code points a plan takes away, for a marker that says so among `words` other code points;
    /// `None` when what is left with such a marker would be over the threshold.
    #[must_use]
    pub fn number(&self, plan: &Plan, words: u64) -> Option<String> {
        let removed = plan.gap_end - plan.gap_start;
        let number = removed.to_string();
        let marker = u128::from(words) + number.len() as u128;
        (u128::from(plan.total - removed) + marker <= u128::from(self.threshold)).then_some(number)
    }
}

/// What stands for the middle that was cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker<'a> {
    /// the text that the budget has room for
    pub text: &'a str,
    /// texts before and behind the number of code points that went; the three stand in place of `text` where they fit
    pub numbered: Option<(&'a str, &'a str)>,
}

/// The gap that a cut leaves in the concatenated text: code points `[gap_start, gap_end)` go.
///
/// Never empty, since the threshold holds head and tail and the text is longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    gap_start: u64,
    gap_end: u64,
    total: u64,
}

/// What one text block keeps: its code points before `head_end` and those from `tail_start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// end of what is kept at the block's start, in code points
    pub head_end: u64,
    /// start of what is kept at the block's end, in code points
    pub tail_start: u64,
    /// whether the marker goes between the two
    pub marker: bool,
}

impl Plan {
    /// The gap's edges, in code points.
    pub(crate) fn gap(&self) -> (u64, u64) {
        (self.gap_start, self.gap_end)
    }

    /// The same plan with a gap that holds its own.
    pub(crate) fn with_gap(self, gap_start: u64, gap_end: u64) -> Self {
        Self { gap_start, gap_end, ..self }
    }

    /// One piece for each of the lengths that the plan was made from, in order.
    ///
    /// The marker goes into the block that holds the gap's first code point: the only one that begins at or before the
    /// gap and ends inside or after it. An empty block holds no code point and never takes it.
    pub fn pieces<'a>(&self, lengths: &'a [u64]) -> impl Iterator<Item = Piece> + use<'a> {
        let Self { gap_start, gap_end, .. } = *self;
        let mut start = 0;
        lengths.iter().map(move |&length| {
            let piece = Piece {
                head_end: gap_start.saturating_sub(start).min(length),
                tail_start: gap_end.saturating_sub(start).min(length),
                marker: start <= gap_start && gap_start - start < length,
            };
            start += length;
            piece
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Budget {
        Budget::new(8192, 4096, 1024, 39).unwrap()
    }

    fn pieces(budget: Budget, lengths: &[u64]) -> Vec<(u64, u64, bool)> {
        let plan = budget.plan(lengths).unwrap().expect("these lengths are over the threshold");
        plan.pieces(lengths).map(|piece| (piece.head_end, piece.tail_start, piece.marker)).collect()
    }

    #[test]
    fn a_result_at_the_threshold_is_left_alone_and_one_code_point_more_is_cut() {
        assert_eq!(host().plan(&[8192]), Ok(None));
        assert_eq!(host().plan(&[8000, 0, 192]), Ok(None));
        assert_eq!(pieces(host(), &[8193]), [(4096, 7169, true)]);
    }

    #[test]
    fn no_block_at_all_is_within_any_threshold() {
        assert_eq!(Budget::new(1, 0, 0, 0).unwrap().plan(&[]), Ok(None));
    }

    #[test]
    fn a_head_that_ends_at_a_block_edge_leaves_the_marker_to_the_next_block_with_text() {
        // 10,120 in all: the gap is [4096, 9096).
        assert_eq!(
            pieces(host(), &[4096, 0, 5000, 0, 1024]),
            [(4096, 4096, false), (0, 0, false), (0, 5000, true), (0, 0, false), (0, 0, false)]
        );
    }

    #[test]
    fn a_gap_over_three_blocks_empties_the_middle_one() {
        // 12,000 in all: the gap is [4096, 10976).
        assert_eq!(pieces(host(), &[4000, 4000, 4000]), [(4000, 4000, false), (96, 4000, true), (0, 2976, false)]);
    }

    #[test]
    fn without_a_head_the_marker_comes_first_and_without_a_tail_it_comes_last() {
        let only_tail = Budget::new(10, 0, 3, 2).unwrap();
        assert_eq!(pieces(only_tail, &[0, 6, 6]), [(0, 0, false), (0, 6, true), (0, 3, false)]);
        let only_head = Budget::new(10, 3, 0, 2).unwrap();
        assert_eq!(pieces(only_head, &[6, 6, 0]), [(3, 6, true), (0, 6, false), (0, 0, false)]);
    }

    #[test]
    fn a_budget_that_would_cut_its_own_output_is_refused() {
        assert_eq!(Budget::new(100, 50, 12, 39), Err(BudgetError::KeepsTooMuch { kept: 101, threshold: 100 }));
        assert!(Budget::new(101, 50, 12, 39).is_ok());
        assert_eq!(Budget::new(0, 0, 0, 0), Err(BudgetError::ZeroThreshold));
    }

    #[test]
    fn sums_past_the_largest_number_are_refused_and_never_wrap() {
        let kept = 3 * u128::from(u64::MAX);
        assert_eq!(
            Budget::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX),
            Err(BudgetError::KeepsTooMuch { kept, threshold: u64::MAX })
        );
        assert_eq!(host().plan(&[u64::MAX, 1]), Err(BudgetError::TooLong));
        assert_eq!(pieces(host(), &[u64::MAX]), [(4096, u64::MAX - 1024, true)]);
    }

    #[test]
    fn a_number_is_given_where_marker_and_digits_fit() {
        // 2 + 3 are kept of 105, and 100 go: the digits are 3.
        let budget = Budget::new(12, 2, 3, 1).unwrap();
        let plan = budget.plan(&[105]).unwrap().unwrap();
        assert_eq!(budget.number(&plan, 4).as_deref(), Some("100"));
        assert_eq!(budget.number(&plan, 5), None);
        assert_eq!(budget.number(&plan, u64::MAX), None);
        // A digit less has room for another word: 99 go.
        let plan = budget.plan(&[104]).unwrap().unwrap();
        assert_eq!(budget.number(&plan, 5).as_deref(), Some("99"));
        assert_eq!(budget.number(&plan, 6), None);
        // A wider gap keeps less and has the more room.
        assert_eq!(budget.number(&plan.with_gap(0, 104), 9).as_deref(), Some("104"));
        assert_eq!(budget.number(&plan.with_gap(0, 104), 10), None);
    }

    #[test]
    fn an_error_is_one_sentence_that_names_the_numbers() {
        let error = Budget::new(100, 50, 12, 39).unwrap_err();
        assert_eq!(
            error.to_string(),
            "head + marker + tail are 101 code points, over the threshold of 100: raise it or keep less"
        );
    }
}
