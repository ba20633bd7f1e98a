//! Searches transcripts.

use std::collections::VecDeque;
use std::ops::Range;

use graph_core::work::Pattern;

use super::message::{Message, Totals};
use super::reader::Transcript;
use crate::error::Result;

/// Search term.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// A regular expression, which takes time linear in the searched text.
    Pattern(Box<Pattern>),
    /// A literal text.
    Text(String),
}

impl Wanted {
    /// Returns the byte range of the first match in a text.
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        match self {
            Self::Pattern(pattern) => pattern.find(text),
            Self::Text(wanted) => text.find(&**wanted).map(|at| at..at + wanted.len()),
        }
    }

    /// Checks whether a text in a message matches.
    pub fn is_in(&self, message: &Message) -> bool {
        message.blocks.iter().any(|block| {
            let mut is_found = false;
            block.each_text(|text| is_found |= self.find(text).is_some());
            is_found
        })
    }
}

/// A message in the result of a search.
#[derive(Clone, Copy, Debug)]
pub struct Found<'m> {
    /// The message.
    pub message: &'m Message,
    /// `true` if it matches; otherwise it is near a match.
    pub is_match: bool,
    /// `true` if messages before it were left out.
    pub is_after_gap: bool,
}

/// Result of a search in one transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// Number of messages that match.
    pub matches: u64,
    /// Totals of the whole transcript.
    pub totals: Totals,
}

/// Passes the matching messages to `visit`, each with `around` messages before and after it, in order and once. At most
/// `around` messages are held.
pub fn search(
    transcript: &Transcript<'_>,
    wanted: &Wanted,
    around: usize,
    visit: &mut dyn FnMut(Found<'_>) -> Result<()>,
) -> Result<Searched> {
    let mut before: VecDeque<Message> = VecDeque::new();
    // The number of messages after the last match that are still shown, and the number of the last shown message.
    let (mut behind, mut shown, mut matches) = (0, 0, 0);
    let totals = transcript.read(&mut |message| {
        let is_match = wanted.is_in(message);
        if is_match {
            matches += 1;
            behind = around;
        } else if behind > 0 {
            behind -= 1;
        } else {
            if around > 0 {
                if before.len() == around {
                    before.pop_front();
                }
                before.push_back(message.clone());
            }
            return Ok(());
        }
        for held in before.drain(..) {
            let is_after_gap = held.number > shown + 1;
            shown = held.number;
            visit(Found { message: &held, is_match: false, is_after_gap })?;
        }
        let is_after_gap = message.number > shown + 1;
        shown = message.number;
        visit(Found { message, is_match, is_after_gap })
    })?;
    Ok(Searched { matches, totals })
}
