//! Stores and texts for the tests.

use std::path::{Path, PathBuf};

use crate::KnowledgeStore;

/// Returns a store that has no file yet.
pub(super) fn store() -> (tempfile::TempDir, KnowledgeStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = KnowledgeStore::at(&file(&folder));
    (folder, store)
}

/// Returns the path of the store's file in a folder.
pub(super) fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join(".ai/state/knowledge.db")
}

/// A generator of numbers that look random and are the same in every run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    /// Returns the next number, which is below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    /// Returns a text of common and rare words.
    pub(super) fn text(&mut self, words: usize) -> String {
        const WORDS: [&str; 12] = [
            "fox",
            "Quick",
            "café",
            "cafe\u{301}",
            "brown,",
            "the",
            "The",
            "tür-tür",
            "x1",
            "Ärger",
            "日本",
            "no\u{308}n",
        ];
        let mut text = String::new();
        for _ in 0..words {
            // Lower ranks are more frequent.
            let rank = self.below(WORDS.len() + 1).min(self.below(WORDS.len() + 1));
            match WORDS.get(rank) {
                Some(word) => text.push_str(word),
                None => text.extend(["rare".to_owned(), self.below(200).to_string()]),
            }
            text.push([' ', '\n', '-'][self.below(3)]);
        }
        text
    }
}

/// Appends a suffix to the name of a file.
pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
