//! A graph as the walker sees it: names resolved to indices, templates and conditions parsed, defaults filled in.
//! `document` makes one from YAML and has checked everything that can be checked without running.

use serde::{Deserialize, Serialize};

/// The way in which the writes of one superstep are combined into a channel's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reducer {
    /// The one write of the superstep; two are a conflict.
    LastValue,
    /// A list is concatenated, anything else is pushed.
    Append,
    /// Like `Append`, without values that the list has already.
    Union,
    /// Keeps the smallest of the present value and all written ones.
    Min,
    /// Keeps the largest of the present value and all written ones.
    Max,
    /// Adds all written numbers to the current one.
    Sum,
    /// Objects, merged shallowly.
    Merge,
    /// Like `Append`; an element with the `id` of an existing one replaces it.
    Messages,
    /// The writes of this superstep only, as a list.
    Topic,
    /// Visible in the next superstep only.
    Ephemeral,
    /// Never persisted: gone after a resume.
    Untracked,
}

impl Reducer {
    /// Checks whether the reducer combines several writes into one value. The others accept one write in a superstep.
    pub const fn folds(self) -> bool {
        !matches!(self, Self::LastValue | Self::Ephemeral | Self::Untracked)
    }
}

/// The values of `on_max_steps`: how a run ends that reaches `max_steps`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMaxSteps {
    /// The run ends with status `limit`.
    #[default]
    Fail,
    /// The run completes with its present state.
    ReturnLast,
    /// The run completes, and says that the limit was reached.
    ReturnWithFlag,
}

/// The values of `on_error`: the effect of a failure of a node that nothing else handles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run fails.
    #[default]
    Fail,
    /// The node's `assign` is skipped, and its edges see the failure as `result`.
    Continue,
}

/// The values of `on_no_match`: the outcome if none of a branch's edges matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnNoMatch {
    /// The branch ends without a failure.
    #[default]
    End,
    /// The run fails and the superstep does not commit.
    Fail,
}

/// The values of `on_stalled_barrier`: the outcome of barriers that wait for nodes that will never run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStalledBarrier {
    /// The run ends as without the barrier, with a warning.
    #[default]
    Warn,
    /// The run fails.
    Fail,
    /// The barrier opens with the nodes that have arrived.
    Release,
}

/// The values of `on_item_error` of a `foreach`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnItemError {
    /// The item's failure is the node's failure.
    #[default]
    Fail,
    /// The item's result is `null`.
    KeepNull,
    /// The item's result is `{_error: {category, error}}`.
    KeepError,
    /// The item has no result.
    Skip,
}

/// The values of `durability`: the moment at which boundaries are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A boundary is durable before the next superstep starts.
    #[default]
    Sync,
    /// A boundary is written while the next superstep runs.
    Async,
    /// Only the end, and every suspension, is written.
    Exit,
}

/// The values of `templates`: the treatment of a missing path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemplateMode {
    /// A missing path is `null` and a warning.
    #[default]
    Lenient,
    /// A missing path is an `invalid-input` failure of the node.
    Strict,
}

/// Defines the names of enum variants in documents, in one table that readers, builders and records share.
macro_rules! named {
    ($($type:ident { $($variant:ident => $name:literal),+ $(,)? })+) => {$(
        impl $type {
            /// The names in documents, with the variants.
            pub const CHOICES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant)),+];

            /// Returns the name in documents and records.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    )+};
}
pub(crate) use named;

named! {
    Reducer { LastValue => "last_value", Append => "append", Union => "union", Min => "min", Max => "max", Sum => "sum", Merge => "merge", Messages => "messages", Topic => "topic", Ephemeral => "ephemeral", Untracked => "untracked" }
    OnMaxSteps { Fail => "fail", ReturnLast => "return_last", ReturnWithFlag => "return_with_flag" }
    OnError { Fail => "fail", Continue => "continue" }
    OnNoMatch { End => "end", Fail => "fail" }
    OnStalledBarrier { Warn => "warn", Fail => "fail", Release => "release" }
    OnItemError { Fail => "fail", KeepNull => "keep_null", KeepError => "keep_error", Skip => "skip" }
    Durability { Sync => "sync", Async => "async", Exit => "exit" }
    TemplateMode { Lenient => "lenient", Strict => "strict" }
}
