//! OCI image-layout directories: `oci-layout`, `index.json` and `blobs/sha256/`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_held::{DRAFT, DRAFT_END, FilePlace, FolderPlace, HeldFolder, Opening, Refusal, WriteOptions};

use crate::budget::TransferBudget;
use crate::manifest::{ArtifactManifest, Descriptor, MOST_MANIFEST, ManifestIndex, annotation, media};
use crate::reference::LAYOUT;
use crate::transport::{
    FetchedManifest, ManifestName, Transport, TransportError, fallback_tag, has_type, index_of_tag, listed,
    subject_of_tag,
};

/// The content of the file `oci-layout`.
const VERSION: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
/// Maximum number of bytes of manifests that are read in order to find referrers.
const MOST_LISTS: usize = 16 << 20;
/// Maximum number of manifests that are read in order to find referrers.
const MOST_LOOKED_AT: usize = 1_000;

/// A directory with artifacts in it. The user has named the directory, but its content may be a stranger's: below the
/// directory, no link is followed, so that nothing outside is read or written.
#[derive(Clone, Debug)]
pub struct Layout {
    folder: FolderPlace,
    blobs: FolderPlace,
    /// The limit on time, for a directory that a stranger may have filled.
    budget: Option<TransferBudget>,
}

/// The properties of all files of a layout.
const WRITTEN: WriteOptions = WriteOptions::with_mode(0o644);

impl Layout {
    /// Returns the layout in a directory, which need not exist: writing to the layout creates it.
    pub fn new(folder: &Path) -> Self {
        let folder = FolderPlace::at(folder);
        let blobs = folder.child("blobs").child("sha256");
        Self { folder, blobs, budget: None }
    }

    /// Sets a limit on the time that reading takes, together with everything else that has this budget. A single file of
    /// the layout is read to its end.
    #[must_use]
    pub fn within(self, budget: &TransferBudget) -> Self {
        Self { budget: Some(budget.clone()), ..self }
    }

    /// Checks that there is time left for reading something.
    fn check_time(&self, what: &str) -> Result<(), TransportError> {
        self.budget.as_ref().map_or(Ok(()), |budget| budget.time_left(what, &self.place()).map(|_| ()))
    }

    /// Reads the `index.json` of the directory, of at most [`MOST_MANIFEST`] bytes.
    pub fn index(&self) -> Result<ManifestIndex, TransportError> {
        let marker = self.read("`oci-layout`", &self.folder.file("oci-layout"), 4096)?;
        let version = json::read::<serde_json::Value>(&marker, TreeLimit::NOTE).ok();
        let version = version.as_ref().and_then(|it| it.get("imageLayoutVersion")?.as_str());
        if version.is_none_or(|version| !version.starts_with("1.")) {
            let reason = "it does not say `imageLayoutVersion` 1.0.0".to_owned();
            return Err(self.broken("`oci-layout`", reason));
        }
        let bytes = self.read("`index.json`", &self.folder.file("index.json"), MOST_MANIFEST)?;
        ManifestIndex::read(&bytes).map_err(|error| self.broken("`index.json`", error.to_string()))
    }

    fn broken(&self, what: &str, reason: String) -> TransportError {
        TransportError::Broken { what: what.to_owned(), place: self.place(), reason }
    }

    fn not_found(&self, what: String) -> TransportError {
        let place = self.place();
        TransportError::NotFound { what, listing: Some(format!("{LAYOUT}{place}")), place }
    }

    fn blob_file(&self, digest: &Digest) -> FilePlace {
        self.blobs.file(digest.hex())
    }

    fn read(&self, what: &str, file: &FilePlace, most: u64) -> Result<Vec<u8>, TransportError> {
        self.check_time(what)?;
        file.read(most).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                TransportError::NotFound { what: what.to_owned(), place: self.place(), listing: None }
            }
            io::ErrorKind::FileTooLarge => {
                TransportError::TooLarge { what: what.to_owned(), place: self.place(), most }
            }
            io::ErrorKind::IsADirectory => self.broken(what, "it is not a file".to_owned()),
            _ => self.failed(what, "read", source),
        })
    }

    /// Returns the error for a file that could not be read or written: [`TransportError::Broken`] if something in the
    /// directory is not what it has to be, [`TransportError::Io`] for any other error.
    fn failed(&self, what: &str, done: &'static str, source: io::Error) -> TransportError {
        let reason = Refusal::of(&source).map(|refusal| {
            if matches!(refusal, Refusal::NotRegular { .. }) {
                return "it is not a file".to_owned();
            }
            let path = refusal.path();
            let inner = path.strip_prefix(self.folder.path()).unwrap_or(path).display();
            printable(&format!("`{inner}`: {refusal}")).into_owned()
        });
        match reason {
            Some(reason) => self.broken(what, reason),
            None => TransportError::Io { what: what.to_owned(), place: self.place(), done, source },
        }
    }

    /// Writes a file that appears complete or not at all.
    fn write(&self, what: &str, file: &FilePlace, bytes: &[u8]) -> Result<(), TransportError> {
        let written = file.replace(WRITTEN, |file| file.write_all(bytes));
        written.map_err(|source| self.failed(what, "written", source))
    }

    /// Writes a file like [`Self::write`], unless it exists.
    fn write_new(&self, what: &str, name: &str, bytes: &[u8]) -> Result<(), TransportError> {
        let write = || -> io::Result<()> {
            let folder = self.folder.make()?;
            let draft = folder.draft(WRITTEN, |file| file.write_all(bytes))?;
            let linked = folder.link(&draft, name);
            folder.remove(&draft)?;
            match linked {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => folder.sync(),
            }
        };
        write().map_err(|source| self.failed(what, "written", source))
    }

    /// Makes the directory a layout, and locks it until the returned file is dropped.
    fn lock(&self) -> Result<File, TransportError> {
        let marker = self.folder.file("oci-layout");
        let failed = |source| self.failed("`oci-layout`", "read", source);
        if marker.entry().map_err(failed)?.is_none() {
            let used = self.folder.get().and_then(|held| is_used(&held));
            if used.is_ok_and(|used| used) {
                let reason = "the folder has other things in it, and no file `oci-layout`".to_owned();
                return Err(self.broken("an image layout", reason));
            }
            // The marker is written last: a layout with it is complete. Another process may be making the layout at the
            // same time.
            self.write_new("`index.json`", "index.json", &ManifestIndex::empty().to_bytes())?;
            self.write_new("`oci-layout`", "oci-layout", VERSION.as_bytes())?;
        }
        let file = marker.open(Opening::Read).map_err(failed)?;
        file.lock().map_err(|source| self.failed("`oci-layout`", "written", source))?;
        Ok(file)
    }

    /// Reads the manifest of a descriptor; `None` if it cannot be read.
    fn manifest_of(&self, listed: &Descriptor) -> Option<ArtifactManifest> {
        let bytes = self.read("a manifest", &self.blob_file(&listed.digest), MOST_MANIFEST).ok()?;
        ArtifactManifest::read(&bytes).ok()
    }
}

/// Reports whether a folder has anything in it, apart from files that a process may have left that was killed while it
/// made a layout.
fn is_used(folder: &HeldFolder) -> io::Result<bool> {
    let is_of_a_new_layout = |name: &OsStr| -> io::Result<bool> {
        if !folder.entry(name)?.is_some_and(|found| found.is_file() && found.length() <= 4096) {
            return Ok(false);
        }
        let name = name.to_string_lossy();
        let is_draft = name.starts_with(DRAFT) && name.ends_with(DRAFT_END);
        Ok(is_draft
            || name == "index.json" && folder.read(&*name, 4096)? == ManifestIndex::empty().to_bytes())
    };
    for name in folder.names()? {
        if !is_of_a_new_layout(&name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Transport for Layout {
    fn manifest(&self, wanted: ManifestName<'_>) -> Result<FetchedManifest, TransportError> {
        let index = self.index()?;
        let found = match wanted {
            ManifestName::Digest(digest) => Some(*digest),
            ManifestName::Tag(tag) => {
                let named = |listed: &&Descriptor| {
                    listed.annotations.get(annotation::REF_NAME).is_some_and(|name| name == tag)
                };
                let mut named = index.manifests.iter().filter(named);
                let found = named.next().map(|listed| listed.digest);
                if named.any(|other| Some(other.digest) != found) {
                    return Err(self.broken(&wanted.shown(), "it occurs twice".to_owned()));
                }
                found
            }
        };
        let what = wanted.shown();
        let digest = found.ok_or_else(|| self.not_found(what.clone()))?;
        let bytes = self.read(&what, &self.blob_file(&digest), MOST_MANIFEST)?;
        let actual = Digest::of_bytes(&bytes);
        if actual != digest {
            return Err(self.broken(&what, format!("its digest is {actual}, it is listed with {digest}")));
        }
        Ok(FetchedManifest { bytes, digest })
    }

    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError> {
        self.read(&format!("blob {digest}"), &self.blob_file(digest), most)
    }

    fn tags(&self) -> Result<Vec<String>, TransportError> {
        let name = |mut listed: Descriptor| listed.annotations.remove(annotation::REF_NAME);
        Ok(self.index()?.manifests.into_iter().filter_map(name).collect())
    }

    fn referrers(&self, subject: &Digest, artifact_type: &str) -> Result<Vec<Descriptor>, TransportError> {
        let index = self.index()?;
        let tag = fallback_tag(subject);
        let mut found: Vec<Descriptor> = Vec::new();
        let mut looked_at = 0;
        for listed in &index.manifests {
            // Referrers that were copied from a registry without the referrers API are listed under the fallback tag.
            if listed.annotations.get(annotation::REF_NAME) == Some(&tag) && listed.media_type == media::INDEX
            {
                let bytes =
                    self.read(&format!("tag `{tag}`"), &self.blob_file(&listed.digest), MOST_MANIFEST)?;
                let index = ManifestIndex::read(&bytes)
                    .map_err(|error| self.broken(&format!("tag `{tag}`"), error.to_string()))?;
                found.extend(index.manifests);
            } else if listed.media_type == media::MANIFEST && has_type(listed, artifact_type) {
                if looked_at == MOST_LOOKED_AT {
                    let (what, place) = (format!("the referrers of {subject}"), self.place());
                    return Err(TransportError::CutOff { what, place, most: looked_at, unit: "manifests" });
                }
                looked_at += 1;
                self.check_time("the referrers")?;
                if let Some(manifest) = self.manifest_of(listed)
                    && manifest.subject.as_ref().is_some_and(|about| about.digest == *subject)
                {
                    let kind = Some(manifest.kind().to_owned());
                    found.push(Descriptor { artifact_type: kind, ..listed.clone() });
                }
            }
        }
        found.retain(|listed| has_type(listed, artifact_type));
        found.sort_by_key(|listed| listed.digest);
        found.dedup_by_key(|listed| listed.digest);
        Ok(found)
    }

    fn all_referrers(&self, artifact_type: &str) -> Result<Vec<(Digest, Descriptor)>, TransportError> {
        let mut found = Vec::new();
        let mut bytes = 0;
        for listed in &self.index()?.manifests {
            let name = listed.annotations.get(annotation::REF_NAME);
            let Some(subject) = name.and_then(|name| subject_of_tag(name)) else { continue };
            self.check_time("the referrers")?;
            let read = self.read("a list of referrers", &self.blob_file(&listed.digest), MOST_MANIFEST);
            let Ok(read) = read else { continue };
            bytes += read.len();
            let Ok(index) = ManifestIndex::read(&read) else { continue };
            let wanted = index.manifests.into_iter().filter(|one| has_type(one, artifact_type));
            found.extend(wanted.map(|one| (subject, one)));
            if found.len() > MOST_LOOKED_AT || bytes > MOST_LISTS {
                let (what, place) = ("all referrers".to_owned(), self.place());
                let (most, unit) = (MOST_LOOKED_AT, "manifests");
                return Err(TransportError::CutOff { what, place, most, unit });
            }
        }
        Ok(found)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError> {
        let _lock = self.lock()?;
        let digest = Digest::of_bytes(bytes);
        let file = self.blob_file(&digest);
        let there = self.read("a blob", &file, bytes.len() as u64);
        if there.is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        self.write(&format!("blob {digest}"), &file, bytes)
    }

    fn put_manifest(&self, manifest: &ArtifactManifest, tag: Option<&str>) -> Result<Digest, TransportError> {
        let bytes = manifest.to_bytes();
        self.put_blob(&bytes)?;
        let mut entry = listed(manifest, &bytes);
        let digest = entry.digest;
        // The referrers are also listed under the tag for registries without the referrers API, so that tools that copy
        // by name can copy them.
        let mut referrers = None;
        if let Some(subject) = &manifest.subject {
            let tag = fallback_tag(&subject.digest);
            let mut known = index_of_tag(self, &tag)?;
            if !known.manifests.iter().any(|listed| listed.digest == digest) {
                known.manifests.push(entry.clone());
                self.put_blob(&known.to_bytes())?;
                referrers = Some((tag, Descriptor::new(media::INDEX, &known.to_bytes())));
            }
        }
        let _lock = self.lock()?;
        let mut index = self.index()?;
        if let Some((tag, mut listed)) = referrers {
            index.manifests.retain(|listed| listed.annotations.get(annotation::REF_NAME) != Some(&tag));
            listed.annotations.insert(annotation::REF_NAME.to_owned(), tag);
            index.manifests.push(listed);
        }
        // In an index, annotations are names; those of the manifest stay in the manifest.
        entry.annotations.clear();
        if let Some(tag) = tag {
            entry.annotations.insert(annotation::REF_NAME.to_owned(), tag.to_owned());
        }
        let name = |listed: &Descriptor| listed.annotations.get(annotation::REF_NAME).cloned();
        index.manifests.retain(|listed| match tag {
            Some(tag) => name(listed).as_deref() != Some(tag),
            None => listed.digest != digest || name(listed).is_some(),
        });
        index.manifests.push(entry);
        index.manifests.sort_by_key(|listed| (name(listed), listed.digest));
        self.write("`index.json`", &self.folder.file("index.json"), &index.to_bytes())?;
        Ok(digest)
    }

    fn place(&self) -> String {
        printable(&self.folder.path().display().to_string()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn manifest(layer: &[u8], subject: Option<Descriptor>) -> ArtifactManifest {
        ArtifactManifest {
            schema_version: 2,
            media_type: Some(media::MANIFEST.to_owned()),
            artifact_type: None,
            config: Descriptor::new(media::EMPTY, b"{}"),
            layers: vec![Descriptor::new(media::WASM, layer)],
            subject,
            annotations: BTreeMap::new(),
        }
    }

    #[test]
    fn a_layout_that_was_begun_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let layout = Layout::new(folder.path());
        // The state that a process leaves which was killed before it wrote the marker.
        fs::write(at(".graph-host-aBcDe1.tmp"), "{").unwrap();
        fs::write(at("index.json"), ManifestIndex::empty().to_bytes()).unwrap();
        layout.put_blob(b"one").unwrap();
        assert_eq!(layout.index().unwrap().manifests.len(), 0);
        // A directory with other content belongs to another program.
        for (name, text) in [("index.json", "{}"), ("notes", "mine")] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), text).unwrap();
            let refused = Layout::new(folder.path()).put_blob(b"one");
            assert!(matches!(refused, Err(TransportError::Broken { .. })), "{name}");
        }
    }

    #[test]
    fn what_is_put_in_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(&folder.path().join("out"));
        assert!(matches!(layout.index(), Err(TransportError::NotFound { .. })));
        layout.put_blob(b"one").unwrap();
        let one = manifest(b"one", None);
        let digest = layout.put_manifest(&one, Some("a/b:1.0.0")).unwrap();
        assert_eq!(layout.put_manifest(&one, Some("a/b:1.0.0")).unwrap(), digest);
        assert_eq!(layout.index().unwrap().manifests.len(), 1);
        let fetched = layout.manifest(ManifestName::Tag("a/b:1.0.0")).unwrap();
        assert_eq!((fetched.digest, fetched.bytes), (digest, one.to_bytes()));
        assert!(layout.manifest(ManifestName::Digest(&digest)).is_ok());
        assert_eq!(layout.blob(&Digest::of_bytes(b"one"), 3).unwrap(), b"one");
        assert!(matches!(layout.blob(&Digest::of_bytes(b"one"), 2), Err(TransportError::TooLarge { .. })));

        let about = Descriptor::new(media::MANIFEST, &one.to_bytes());
        let referrer = manifest(b"envelope", Some(about));
        let referrer = layout.put_manifest(&referrer, None).unwrap();
        let found = layout.referrers(&digest, media::EMPTY).unwrap();
        assert_eq!(found.iter().map(|listed| listed.digest).collect::<Vec<_>>(), [referrer]);

        let two = manifest(b"two", None);
        let moved = layout.put_manifest(&two, Some("a/b:1.0.0")).unwrap();
        assert_eq!(layout.manifest(ManifestName::Tag("a/b:1.0.0")).unwrap().digest, moved);
        let listed = layout.index().unwrap().manifests.len();
        assert_eq!(listed, 3, "one with a name, the referrer, and the list of referrers by its tag");
    }

    /// The paths below a folder, with the bytes of files.
    type Seen = Vec<(std::path::PathBuf, Option<Vec<u8>>)>;

    /// Returns a folder with a file in it, and a function that reads everything below it without following links.
    fn other() -> (tempfile::TempDir, impl Fn() -> Seen) {
        let other = tempfile::tempdir().unwrap();
        fs::create_dir(other.path().join("sha256")).unwrap();
        fs::write(other.path().join("mine"), ManifestIndex::empty().to_bytes()).unwrap();
        let path = other.path().to_owned();
        let seen = move || {
            let mut found = Vec::new();
            let mut folders = vec![path.clone()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        folders.push(path.clone());
                    }
                    found.push((path.clone(), fs::read(&path).ok()));
                }
            }
            found.sort();
            found
        };
        (other, seen)
    }

    #[test]
    fn no_link_in_a_layout_leads_out_of_it() {
        use std::os::unix::fs::symlink;
        let one = manifest(b"one", None);
        let digest = Digest::of_bytes(&one.to_bytes());
        let blob = format!("blobs/sha256/{}", digest.hex());
        // A link replaces a part of a layout, before its first version and before a later version is published.
        for replaced in ["blobs", "blobs/sha256", "index.json", "oci-layout", &blob] {
            for target in ["sha256", "mine", "missing"] {
                let (other, seen) = other();
                let before = seen();
                let folder = tempfile::tempdir().unwrap();
                Layout::new(folder.path()).put_manifest(&one, Some("a/b:1.0.0")).unwrap();
                let at = folder.path().join(replaced);
                if at.is_dir() {
                    fs::remove_dir_all(&at).unwrap();
                } else {
                    fs::remove_file(&at).unwrap();
                }
                symlink(other.path().join(target), &at).unwrap();
                let layout = Layout::new(folder.path());
                let refused = layout.put_manifest(&one, Some("a/b:1.0.1"));
                assert_eq!(seen(), before, "{replaced} -> {target}: {refused:?}");
                if replaced == blob {
                    // The blob replaces the link, which is not followed.
                    assert!(refused.is_ok() && fs::symlink_metadata(&at).unwrap().is_file());
                    continue;
                }
                let told = refused.unwrap_err();
                assert!(matches!(told, TransportError::Broken { .. }), "{replaced}: {told:?}");
                let name = format!("`{replaced}`: it is a link to {}", other.path().join(target).display());
                assert!(told.to_string().contains(&name), "{told}");
                // Nor is anything read there.
                assert!(matches!(
                    layout.manifest(ManifestName::Tag("a/b:1.0.0")),
                    Err(TransportError::Broken { .. })
                ));
            }
        }
        // A layout that was not completed, and one that consists of a link only.
        for replaced in ["blobs", "index.json", "oci-layout"] {
            let (other, seen) = other();
            let before = seen();
            let folder = tempfile::tempdir().unwrap();
            symlink(other.path().join("mine"), folder.path().join(replaced)).unwrap();
            assert!(Layout::new(folder.path()).put_blob(b"one").is_err(), "{replaced}");
            assert_eq!((seen(), fs::read_dir(folder.path()).unwrap().count()), (before, 1), "{replaced}");
        }
        // The folder that the user names may be reached through links.
        let (folder, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        symlink(folder.path(), links.path().join("mine")).unwrap();
        Layout::new(&links.path().join("mine")).put_manifest(&one, Some("a")).unwrap();
        assert!(Layout::new(folder.path()).manifest(ManifestName::Tag("a")).is_ok());
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        for name in ["index.json", "oci-layout"] {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path());
            layout.put_blob(b"one").unwrap();
            fs::remove_file(folder.path().join(name)).unwrap();
            let pipe = std::process::Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap();
            assert!(pipe.success());
            assert!(matches!(layout.index(), Err(TransportError::Broken { .. })), "{name}");
            assert!(layout.put_manifest(&manifest(b"one", None), Some("a")).is_err(), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        layout.put_blob(b"one").unwrap();
        fs::create_dir(folder.path().join("blobs/sha256").join(Digest::of_bytes(b"two").hex())).unwrap();
        assert!(matches!(layout.blob(&Digest::of_bytes(b"two"), 3), Err(TransportError::Broken { .. })));
    }

    #[test]
    fn a_folder_of_other_things_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "mine").unwrap();
        let layout = Layout::new(folder.path());
        assert!(matches!(layout.put_blob(b"x"), Err(TransportError::Broken { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_changed_manifest_is_not_what_it_is_listed_as() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let digest = layout.put_manifest(&manifest(b"one", None), Some("a")).unwrap();
        fs::write(layout.blob_file(&digest).path(), manifest(b"two", None).to_bytes()).unwrap();
        for wanted in [ManifestName::Tag("a"), ManifestName::Digest(&digest)] {
            assert!(matches!(layout.manifest(wanted), Err(TransportError::Broken { .. })));
        }
    }

    /// Creates a layout whose index lists many manifests that are missing.
    fn crowded(folder: &Path, count: usize) -> Layout {
        let entry = |number: usize| {
            let name = (annotation::REF_NAME.to_owned(), format!("a/b:1.0.{number}"));
            let annotations = BTreeMap::from([name]);
            Descriptor { annotations, ..Descriptor::new(media::MANIFEST, &number.to_le_bytes()) }
        };
        let index = ManifestIndex { manifests: (0..count).map(entry).collect(), ..ManifestIndex::empty() };
        fs::write(folder.join("oci-layout"), VERSION).unwrap();
        fs::write(folder.join("index.json"), index.to_bytes()).unwrap();
        Layout::new(folder)
    }

    #[test]
    fn no_file_is_read_once_the_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let digest = layout.put_manifest(&manifest(b"one", None), Some("a:1.0.0")).unwrap();
        let late = layout.within(&TransferBudget::new(std::time::Duration::ZERO, u64::MAX));
        let ends: [Result<(), TransportError>; 6] = [
            late.index().map(drop),
            late.manifest(ManifestName::Tag("a:1.0.0")).map(drop),
            late.blob(&digest, 1 << 20).map(drop),
            late.tags().map(drop),
            late.referrers(&digest, "x/y").map(drop),
            late.all_referrers("x/y").map(drop),
        ];
        for end in ends {
            assert!(matches!(end, Err(TransportError::Timeout { seconds: 0, .. })), "{end:?}");
        }
    }

    #[test]
    fn a_listing_that_is_cut_off_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let subject = Digest::of_bytes(b"subject");
        let layout = crowded(folder.path(), MOST_LOOKED_AT);
        assert_eq!(layout.referrers(&subject, media::ENVELOPE).unwrap(), []);
        assert_eq!(layout.tags().unwrap().len(), MOST_LOOKED_AT);
        let options = crate::http::RegistryOptions::new(None, std::time::Duration::from_mins(1), 1 << 20);
        let offers = |folder: &Path| {
            let reference = format!("oci-layout:{}", folder.display()).parse().unwrap();
            crate::search::offers(&reference, &options).unwrap().cut_off
        };
        let told = offers(folder.path()).unwrap().to_string();
        assert!(told.contains("more than 500 artifacts"), "{told}");

        let layout = crowded(folder.path(), MOST_LOOKED_AT + 1);
        let error = layout.referrers(&subject, media::ENVELOPE).unwrap_err();
        assert!(matches!(error, TransportError::CutOff { most: MOST_LOOKED_AT, .. }), "{error:?}");
        let few = tempfile::tempdir().unwrap();
        crowded(few.path(), 3);
        assert!(offers(few.path()).is_none());
    }
}
