//! Transcripts: what language models were asked and have answered in a run, from the journals of its tasks.
//!
//! A component sends the whole conversation with each request. A transcript has each message once: of a request that continues a
//! known conversation only what is new in it, and then the answer. It is read record by record; what is remembered of a
//! conversation are digests.

mod conversations;
mod file;
mod knowledge_item;
mod message;
mod node_paths;
mod reader;
mod search;

pub use file::{
    FORMAT, Saved, VERSION, VerifiedTranscript, end_line, header_line, is_transcript, message_line, save,
    verify, write,
};
pub use knowledge_item::{ITEMS, write_item};
pub use message::{Answer, Block, FileDigest, Message, Reasoning, Role, ToolCall, ToolResult, Totals};
pub use reader::{Transcript, Visit};
pub use search::{Found, Searched, Wanted, search};
