//! Transcripts: the requests to language models in a run and their answers, from the journals of its tasks.
//!
//! A component sends the whole conversation with each request. A transcript has each message once: for a request that
//! continues a known conversation, only its new messages, and then the answer. It is read record by record; only
//! digests of conversations are remembered.

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
pub use knowledge_item::write_item;
pub use message::{Answer, Block, FileDigest, Message, Reasoning, Role, ToolCall, ToolResult, Totals};
pub use reader::{Transcript, Visit};
pub use search::{Found, Searched, Wanted, search};
