//! The trust log, next to the trust store: times and keys of all acceptances. Lines are added and never changed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use graph_core::digest::Digest;
use graph_core::trust::{
    ComponentStanding, KeyId, LogEnd, LogEntry, LogError, LogEvent, SigningKey, VerifiedComponent, peek_log,
    read_first_write, read_log, unsigned_text,
};
use graph_registry::artifact::Kind;
use graph_registry::pull::{PulledArtifact, PulledContent};
use graph_walker::document;

use crate::clock::now;
use crate::error::{Error, Result};
use crate::project::text_file;
use crate::project::user_home::{Home, create_private_folder, sync_folder, write_atomic};
use crate::remedy::Remedy;

const BEGIN_ANEW: &str = "find out who changed it, and put trust.log and trust.log.head back from a copy; \
    to begin a new log, move both away and keep them";

/// The log in a user's space.
#[derive(Clone, Debug)]
pub struct TrustLog {
    home: Home,
}

impl TrustLog {
    /// Returns the log next to the trust store of this space.
    pub fn in_home(home: &Home) -> Self {
        Self { home: home.clone() }
    }

    /// The path of the log, `trust.log`: a line for each acceptance.
    pub fn file(&self) -> PathBuf {
        self.home.root().join("trust.log")
    }

    fn head_file(&self) -> PathBuf {
        self.home.root().join("trust.log.head")
    }

    /// Reads all entries, in order; every line is checked.
    pub fn read(&self) -> Result<Vec<LogEntry>> {
        let (text, head) = self.texts()?;
        if text.is_empty() && head.is_none() {
            return Ok(Vec::new());
        }
        let keys = self.home.verifying_identities()?;
        let (entries, _) = read_log(&text, head.as_deref(), &keys).map_err(|error| self.damaged(&error))?;
        Ok(entries)
    }

    /// Adds entries. An entry is skipped if the item's last entry in the log says the same. If any is to be added, the
    /// whole log is checked first.
    pub fn add(&self, entries: Vec<LogEntry>) -> Result<()> {
        if entries.is_empty() || self.fresh(&self.texts()?.0, entries.clone()).is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        // Another process may have added the same entries meanwhile.
        let (text, head) = self.texts()?;
        let fresh = self.fresh(&text, entries);
        let key = self.home.identity()?;
        let keys = self.home.verifying_identities()?;
        let (_, end) = read_log(&text, head.as_deref(), &keys).map_err(|error| self.damaged(&error))?;
        if head.is_none() {
            // The head is written before the first line, so that a log never has lines without a head.
            self.write_head(&end, &key)?;
        }
        self.append(&text, end, fresh, &key)
    }

    /// Appends entries to the lines of `text`, whose end is `end`, and then writes the head.
    fn append(&self, text: &str, mut end: LogEnd, entries: Vec<LogEntry>, key: &SigningKey) -> Result<()> {
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        let mut lines = String::new();
        for entry in entries {
            let (line, next) = end.append(entry, key);
            lines.push_str(&line);
            end = next;
        }
        let path = self.file();
        let failed = |error: &io::Error| Error::write("the trust log", &path, error);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let mut file = options.open(&path).map_err(|error| failed(&error))?;
        // A last line that a crash cut short does not count.
        file.set_len(whole as u64).map_err(|error| failed(&error))?;
        file.write_all(lines.as_bytes()).map_err(|error| failed(&error))?;
        file.sync_all().map_err(|error| failed(&error))?;
        // The head must not reach the disk before the file name of a new log.
        sync_folder(&path).map_err(|error| failed(&error))?;
        self.write_head(&end, key)
    }

    /// Locks the log against other processes.
    fn lock(&self) -> Result<File> {
        create_private_folder(self.home.root())?;
        let lock_path = self.home.root().join(".trust.log.lock");
        let failed = |error: &io::Error| Error::write("the lock file", &lock_path, error);
        let lock = File::create(&lock_path).map_err(|error| failed(&error))?;
        lock.lock().map_err(|error| failed(&error))?;
        Ok(lock)
    }

    fn write_head(&self, end: &LogEnd, key: &SigningKey) -> Result<()> {
        let path = self.head_file();
        write_atomic(&path, end.head(key).as_bytes(), true)
            .map_err(|error| Error::write("the head of the trust log", &path, &error))
    }

    /// Writes the missing head of a log again: `Some` with the number of lines, `None` if the log is intact. This is done
    /// only for the state that a kill during the first write leaves ([`read_first_write`]); no line is changed, and the
    /// log records the repair. Any other damage is an error, as for every command.
    pub fn repair(&self) -> Result<Option<u64>> {
        let _lock = self.lock()?;
        let (text, head) = self.texts()?;
        let key = self.home.identity()?;
        let keys = self.home.verifying_identities()?;
        match read_log(&text, head.as_deref(), &keys) {
            Ok(_) => return Ok(None),
            Err(LogError::HeadMissing) => {}
            Err(error) => return Err(self.damaged(&error)),
        }
        let (_, end) = read_first_write(&text, &keys).map_err(|error| match error {
            LogError::HeadMissing => Error::integrity(format!(
                "the trust log {} is not repaired: its head is missing, and it has more lines than one command writes. Lines may have been cut off with the head",
                self.home.base().show(&self.file())
            ))
            .help(BEGIN_ANEW),
            error => self.damaged(&error),
        })?;
        let restored = LogEntry {
            at: now(),
            digest: None,
            event: LogEvent::HeadRestored,
            item: "trust.log".to_owned(),
            keys: Vec::new(),
            statement: None,
        };
        // The line comes first, as always: if this is cut short, the log can be repaired in the same way.
        self.append(&text, end, vec![restored], &key)?;
        Ok(Some(end.lines))
    }

    /// Logs a component that became known while a run was under way.
    pub(crate) fn accept_component(&self, component: &VerifiedComponent) -> Result<()> {
        self.add(vec![of_component(component)])
    }

    /// Logs an item that was pulled.
    pub fn accept_pulled(&self, pulled: &PulledArtifact) -> Result<()> {
        let entry = match &pulled.content {
            PulledContent::Component { component, .. } => of_component(component),
            PulledContent::Text { text, extension, .. } => {
                let (id, kind) = (&pulled.id, pulled.kind);
                // Equal to the item and digest that a run with this item logs.
                let (item, digest) = if kind == Kind::Graph {
                    (format!("graph {id}"), document::load(id, text, id)?.graph.digest)
                } else {
                    let digest = Digest::of_bytes(unsigned_text(text).as_bytes());
                    (format!("{} {id}.{extension}", kind.as_str()), digest)
                };
                accepted(item, digest, vec![pulled.key.id])
            }
        };
        self.add(vec![entry])
    }

    /// Logs a change of the user's trust store.
    pub fn key(
        &self,
        event: LogEvent,
        name: &str,
        keys: Vec<KeyId>,
        statement: Option<Digest>,
    ) -> Result<()> {
        self.add(vec![LogEntry { at: now(), digest: None, event, item: name.to_owned(), keys, statement }])
    }

    /// Returns the entries that differ from the last entry of their item in the log.
    #[allow(clippy::unused_self, reason = "reads as what the log does")]
    fn fresh(&self, text: &str, entries: Vec<LogEntry>) -> Vec<LogEntry> {
        let known = peek_log(text);
        let is_key = |entry: &LogEntry| {
            matches!(
                entry.event,
                LogEvent::KeyAdded
                    | LogEvent::KeyRevoked
                    | LogEvent::KeyRotated
                    | LogEvent::KeyChanged
                    | LogEvent::KeyRemoved
            )
        };
        let said = |entry: &LogEntry| {
            // A change of a key is always logged: the line does not contain the new value.
            if entry.event == LogEvent::KeyChanged {
                return false;
            }
            let of_item = |other: &&LogEntry| is_key(other) == is_key(entry) && other.item == entry.item;
            known.iter().rev().find(of_item).is_some_and(|last| last.says_the_same(entry))
        };
        entries.into_iter().filter(|entry| !said(entry)).collect()
    }

    fn texts(&self) -> Result<(String, Option<String>)> {
        let read = |path: PathBuf| match text_file::read(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(Error::integrity(format!("the trust log {} is not text", self.home.base().show(&path))))
            }
            Err(error) => Err(Error::read("the trust log", &path, &error)),
        };
        Ok((read(self.file())?.unwrap_or_default(), read(self.head_file())?))
    }

    fn damaged(&self, error: &LogError) -> Error {
        Error::integrity(format!(
            "the trust log {} is not intact: {error}",
            self.home.base().show(&self.file())
        ))
        .help(if *error == LogError::HeadMissing {
            Remedy::RepairTrustLog
        } else {
            BEGIN_ANEW.into()
        })
    }
}

/// Makes the entry of a component that is admitted.
pub(crate) fn of_component(component: &VerifiedComponent) -> LogEntry {
    let version = component.version().map(|version| format!("@{version}")).unwrap_or_default();
    let item = format!("{}{version}", component.id());
    let event = match component.standing() {
        ComponentStanding::Signed { .. } | ComponentStanding::BuiltIn => LogEvent::Accepted,
        ComponentStanding::Unsigned => LogEvent::AcceptedUnsigned,
    };
    LogEntry {
        event,
        statement: component.statement_digest().copied(),
        ..accepted(item, *component.digest(), component.standing().keys().map(|key| key.id).collect())
    }
}

/// Makes the entry of an item that is admitted now.
pub(crate) fn accepted(item: String, digest: Digest, keys: Vec<KeyId>) -> LogEntry {
    LogEntry { at: now(), digest: Some(digest), event: LogEvent::Accepted, item, keys, statement: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_log_that_a_kill_left_without_head_is_repaired_and_no_other_damage_is() {
        let folder = tempfile::tempdir().unwrap();
        let log = TrustLog::in_home(&Home::at(folder.path().join("space")));
        let entry = |item: &str| accepted(item.to_owned(), Digest::of_bytes(b"1"), Vec::new());
        assert_eq!(log.repair().unwrap(), None, "nothing was written yet");
        log.add(vec![entry("a"), entry("b")]).unwrap();
        assert_eq!(log.repair().unwrap(), None);
        let (whole, head) =
            (fs::read_to_string(log.file()).unwrap(), fs::read_to_string(log.head_file()).unwrap());
        // Cut off, with the head still there.
        fs::write(log.file(), whole.lines().next().unwrap().to_owned() + "\n").unwrap();
        assert_eq!(log.repair().unwrap_err().kind(), Kind::Integrity);
        fs::write(log.file(), &whole).unwrap();
        // A head that this host has not written.
        fs::write(log.head_file(), head.replacen('2', "1", 1)).unwrap();
        assert_eq!(log.repair().unwrap_err().kind(), Kind::Integrity);
        // The state after a kill during the first write, in releases that wrote the head last.
        fs::remove_file(log.head_file()).unwrap();
        let refused = log.add(vec![entry("c")]).unwrap_err();
        assert_eq!(refused.remedy(), Some(&Remedy::RepairTrustLog), "{refused:?}");
        assert_eq!(log.repair().unwrap(), Some(2));
        assert!(fs::read_to_string(log.file()).unwrap().starts_with(&whole), "no line has changed");
        let events: Vec<_> = log.read().unwrap().iter().map(|entry| entry.event).collect();
        assert_eq!(events, [LogEvent::Accepted, LogEvent::Accepted, LogEvent::HeadRestored]);
        log.add(vec![entry("c")]).unwrap();
        // A longer log has had a head: lines may be missing at its end.
        fs::remove_file(log.head_file()).unwrap();
        let before = fs::read_to_string(log.file()).unwrap();
        assert!(log.repair().unwrap_err().message().contains("more lines than one command writes"));
        assert_eq!(fs::read_to_string(log.file()).unwrap(), before);
        assert!(!log.head_file().exists());
    }

    #[test]
    fn lines_are_never_without_a_head() {
        let folder = tempfile::tempdir().unwrap();
        let log = TrustLog::in_home(&Home::at(folder.path().join("space")));
        let entry = || vec![accepted("a".to_owned(), Digest::of_bytes(b"1"), Vec::new())];
        // Killed before the first line.
        log.write_head(&LogEnd::default(), &log.home.identity().unwrap()).unwrap();
        assert_eq!(log.read().unwrap(), []);
        log.add(entry()).unwrap();
        // Killed after the lines.
        log.write_head(&LogEnd::default(), &log.home.identity().unwrap()).unwrap();
        assert_eq!(log.read().unwrap().len(), 1);
    }

    #[test]
    fn what_is_new_is_added_and_every_edit_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let log = TrustLog::in_home(&Home::at(folder.path().join("space")));
        let entry =
            |item: &str, digest: &[u8]| accepted(item.to_owned(), Digest::of_bytes(digest), Vec::new());
        assert_eq!(log.read().unwrap(), []);
        log.add(vec![entry("a", b"1"), entry("b", b"1")]).unwrap();
        log.add(vec![entry("a", b"1")]).unwrap();
        log.add(vec![entry("a", b"2")]).unwrap();
        log.add(vec![entry("a", b"1")]).unwrap();
        let items =
            |log: &TrustLog| log.read().unwrap().into_iter().map(|entry| entry.item).collect::<Vec<_>>();
        assert_eq!(items(&log), ["a", "b", "a", "a"]);
        log.home.rotate_identity(true, now()).unwrap();
        log.add(vec![entry("c", b"1")]).unwrap();
        assert_eq!(items(&log), ["a", "b", "a", "a", "c"]);
        // A line that was cut short does not count.
        let whole = fs::read_to_string(log.file()).unwrap();
        fs::write(log.file(), format!("{whole}{{\"entry\":")).unwrap();
        assert_eq!(items(&log).len(), 5);
        log.add(vec![entry("d", b"1")]).unwrap();
        assert_eq!(items(&log).len(), 6);
        let whole = fs::read_to_string(log.file()).unwrap();
        let cut = whole.lines().next().unwrap().to_owned() + "\n";
        for damaged in [whole.replacen("\"b\"", "\"B\"", 1), cut, String::new()] {
            fs::write(log.file(), damaged).unwrap();
            assert_eq!(log.read().unwrap_err().kind(), Kind::Integrity);
            assert_eq!(log.add(vec![entry("e", b"1")]).unwrap_err().kind(), Kind::Integrity);
        }
    }
}
