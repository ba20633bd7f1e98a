//! User interface of the command: text, JSON documents, exit codes, questions.

pub mod browser;
pub mod case_report;
pub mod drawing;
pub mod exit;
pub mod history_lines;
pub mod inputs;
pub mod json_document;
pub mod live_line;
pub mod live_stream;
pub mod local_time;
mod numbers;
pub mod output;
pub mod page;
pub mod paths;
pub mod progress;
pub mod prompt;
pub mod remedies;
pub mod report;
pub mod run_report;
pub mod session;
pub mod table;
pub mod text;
pub mod typed;
pub mod values;
pub mod width;
