//! The warnings of a run, divided by checkpoints and by the newest boundary.

use graph_core::record::CheckpointPlace;

/// Limit of the warnings that a run keeps. A graph that raises a warning in one superstep may raise it in a thousand.
const MOST_WARNINGS: usize = 1_000;

/// All warnings of a run, in the order in which they were raised.
#[derive(Debug, Default)]
pub(in crate::walker) struct Warnings {
    all: Vec<String>,
    /// Number of warnings that checkpoints contain.
    written: usize,
    /// Number of warnings at the newest boundary.
    boundary: usize,
    /// The newest checkpoint that contains warnings.
    raised_by: Option<CheckpointPlace>,
}

impl Warnings {
    /// Restores the warnings from checkpoints, of which `raised_by` is the newest that contains any.
    pub(in crate::walker) const fn restore(all: Vec<String>, raised_by: Option<CheckpointPlace>) -> Self {
        let written = all.len();
        Self { all, written, boundary: 0, raised_by }
    }

    #[inline]
    pub(in crate::walker) fn all(&self) -> &[String] {
        &self.all
    }

    /// The warnings that no checkpoint contains.
    #[inline]
    pub(in crate::walker) fn unwritten(&self) -> &[String] {
        &self.all[self.written..]
    }

    /// Adds warnings up to the limit.
    pub(in crate::walker) fn keep(&mut self, new: impl IntoIterator<Item = String>) {
        keep_warnings(&mut self.all, new);
    }

    /// Adds warnings beyond the limit too: recorded ones, and those raised before the first superstep.
    pub(in crate::walker) fn extend(&mut self, new: impl IntoIterator<Item = String>) {
        self.all.extend(new);
    }

    /// Adds a warning unless it was raised since the newest boundary: work that is repeated after a crash raises the same warnings again.
    pub(in crate::walker) fn keep_once(&mut self, warning: String) {
        let since = self.all.get(self.boundary..).unwrap_or_default();
        if !since.contains(&warning) {
            self.keep([warning]);
        }
    }

    /// Notes a boundary, after which the same warnings may be raised again.
    #[inline]
    pub(in crate::walker) const fn reach_boundary(&mut self) {
        self.boundary = self.all.len();
    }

    /// Begins another run, whose checkpoints contain none of the warnings yet.
    pub(in crate::walker) const fn begin_anew(&mut self) {
        self.written = 0;
        self.raised_by = None;
    }

    /// Takes the warnings for the next checkpoint, and the newest earlier checkpoint with warnings, which it names if it is whole
    /// or has warnings itself. `passed`: the run has moved on from the boundary, and later warnings do not belong to it.
    pub(in crate::walker) fn write(
        &mut self,
        passed: bool,
        is_whole: bool,
    ) -> (Vec<String>, Option<CheckpointPlace>) {
        let end = if passed { self.boundary.max(self.written) } else { self.all.len() };
        let before = self.raised_by.filter(|_| is_whole || self.written < end);
        let new = self.all[self.written..end].to_vec();
        self.written = end;
        (new, before)
    }

    /// Sets the checkpoint that contains the warnings written last.
    #[inline]
    pub(in crate::walker) const fn written_to(&mut self, place: CheckpointPlace) {
        self.raised_by = Some(place);
    }
}

/// Adds warnings to others up to the limit.
pub(in crate::walker) fn keep_warnings(kept: &mut Vec<String>, new: impl IntoIterator<Item = String>) {
    for warning in new {
        match kept.len() {
            count if count < MOST_WARNINGS => kept.push(warning),
            MOST_WARNINGS => {
                kept.push(format!("further warnings are not kept: the run has {MOST_WARNINGS}"));
                return;
            }
            _ => return,
        }
    }
}
