//! The guarantees of a store, as tests that run on any implementation.
//!
//! ```ignore
//! graph_store::conformance!(MyStores::new());
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, missing_docs)]

pub mod commits;
pub mod fences;
pub mod history;
pub mod locks;
#[cfg(target_os = "linux")]
pub mod memory;
pub mod model;
pub mod pages;
pub mod reads;
pub mod results;
pub mod runs;
pub mod sample;
pub mod upkeep;

use crate::store::{CheckpointStore, Upkeep};

/// A place where a store keeps its data. The data is removed when this is dropped.
pub trait Subject {
    /// Opens the place. Every call returns a separate handle for the same runs, as another process would have.
    fn open(&self) -> Box<dyn CheckpointStore>;
}

/// A place whose store supports the import of runs and the removal of data.
pub trait UpkeepSubject {
    /// Opens the place, as [`Subject::open`] does.
    fn open(&self) -> Box<dyn Upkeep>;
}

/// Defines a test for each case of upkeep. The argument is an expression that returns a fresh [`UpkeepSubject`].
#[macro_export]
macro_rules! upkeep_conformance {
    ($fresh:expr) => {
        $crate::upkeep_conformance!(@ $fresh, upkeep: a_cut_history_keeps_what_the_rest_needs a_cut_that_cannot_be_made_changes_nothing
            a_pause_outlives_the_checkpoint_that_it_was_under a_removed_run_is_gone
            runs_go_together_and_each_is_held a_run_is_taken_over_whole_or_not_at_all
            a_long_run_is_taken_over_piece_by_piece
            texts_are_removed_unless_somebody_has_changed_something;
            fences: a_former_holder_removes_nothing a_cut_history_keeps_epoch_and_head nothing_late_is_written_to_a_removed_run
            nothing_late_is_written_to_a_run_that_was_made_anew nothing_late_is_written_to_an_imported_run
            an_import_takes_nothing_from_a_holder;
            results: expired_results_are_removed);
    };
    (@ $fresh:expr, $($group:ident: $($case:ident)*);*) => {
        $($(
            #[test]
            fn $case() {
                $crate::conformance::$group::$case(&|| Box::new($fresh));
            }
        )*)*
    };
}

/// Defines a test for each case. The argument is an expression that returns a fresh [`Subject`].
#[macro_export]
macro_rules! conformance {
    ($fresh:expr) => {
        $crate::conformance!(@ $fresh,
            runs: a_run_is_kept_as_it_was_given a_second_run_of_one_id_is_refused runs_are_listed_newest_first
                listed_rows_have_no_texts
                updates_change_what_they_name ids_that_name_no_run_are_refused numbers_that_do_not_fit_are_refused names_are_resolved snapshots_are_kept_once
                a_run_brings_its_snapshots_or_nothing;
            commits: checkpoints_are_kept_in_order pending_records_are_replaced_and_voided a_batch_writes_what_is_left_of_it
                records_that_do_not_follow_are_refused a_failing_batch_leaves_nothing unfit_records_are_refused
                an_empty_batch_changes_the_row namespaces_are_apart another_handle_sees_what_is_committed;
            reads: a_checkpoint_brings_what_came_before_it checkpoints_are_found_by_sequence_and_step pages_follow_each_other values_are_put_together namespaces_are_listed
                missing_values_are_errors nothing_is_found_in_an_unknown_run texts_come_back_byte_for_byte;
            results: results_come_with_their_checkpoint the_newest_result_of_each_namespace_is_kept a_refused_batch_leaves_no_results;
            history: entries_are_numbered_without_gaps a_reader_goes_on_where_it_stopped only_history_has_entries;
            locks: a_held_run_is_refused a_dropped_guard_gives_the_run_back one_of_many_threads_gets_the_run
                unknown_runs_cannot_be_held;
            fences: taking_a_run_up_raises_its_epoch the_last_record_is_the_head a_late_task_record_is_refused
                a_late_answer_is_refused a_late_hook_record_is_refused a_late_status_record_is_refused a_late_checkpoint_is_refused
                a_late_change_of_the_row_is_refused a_stale_epoch_is_refused_with_the_right_head
                a_wrong_head_is_refused_under_the_right_epoch a_guard_of_another_run_writes_nothing;
            pages: a_page_ends_after_so_many_bytes pending_records_come_in_pages histories_of_many_namespaces_come_in_order;
            model: random_batches_agree_with_the_memory_store
        );
    };
    (@ $fresh:expr, $($group:ident: $($case:ident)*);*) => {
        $($(
            #[test]
            fn $case() {
                $crate::conformance::$group::$case(&|| Box::new($fresh));
            }
        )*)*
    };
}
