//! Lists of everything that a manifest allows to be reached, for the person who is asked to accept it.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::grant::Access;
use super::manifest::Manifest;
use super::reach::SecretSource;
use crate::diagnostic::printable;

/// Largest number of entries that are listed for one kind.
const MOST_LISTED: usize = 20;
/// Largest number of characters of an entry that are shown.
const MOST_SHOWN: usize = 200;

/// Everything that a manifest allows to be reached, by kind. Each list is sorted and has no duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ManifestReach {
    /// The items that may be dispatched, as patterns.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub dispatch: BTreeSet<String>,
    /// The servers to which requests may go: scheme, host and port.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub servers: BTreeSet<String>,
    /// The variables of the environment that are read.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub variables: BTreeSet<String>,
    /// The files from which secrets are read.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub files: BTreeSet<String>,
    /// The folders that are opened.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub folders: BTreeSet<String>,
    /// The scopes of knowledge.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub knowledge: BTreeSet<String>,
    /// The language models, with the servers of their providers.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub models: BTreeSet<String>,
}

impl ManifestReach {
    /// Collects everything that a manifest allows to be reached.
    pub fn from_manifest(manifest: &Manifest) -> Self {
        let mut reach = Self::default();
        reach.dispatch.extend(manifest.dispatch().iter().map(ToString::to_string));
        for entry in manifest.items() {
            for rule in &entry.http {
                let servers = rule.schemes.iter().flat_map(|scheme| {
                    rule.ports.iter().map(move |port| format!("{scheme}://{}:{port}", rule.host))
                });
                reach.servers.extend(servers);
            }
            for secret in &entry.secrets {
                reach.source(&secret.from);
                reach
                    .servers
                    .extend(secret.schemes.iter().map(|scheme| format!("{scheme}://{}", secret.host)));
            }
            let folders = entry.filesystem.iter().map(|folder| match folder.mount.access {
                Access::ReadWrite => format!("{} (to write)", folder.mount.host),
                Access::ReadOnly => folder.mount.host.clone(),
            });
            reach.folders.extend(folders);
            reach.knowledge.extend(entry.knowledge.iter().map(|rule| match rule.access {
                Access::ReadWrite => format!("{} (to write)", rule.scope),
                Access::ReadOnly => rule.scope.clone(),
            }));
        }
        for model in manifest.models() {
            reach
                .models
                .insert(format!("{} at {}://{}:{}", model.name, model.scheme, model.host, model.port));
            if let Some(source) = &model.secret {
                reach.source(source);
            }
        }
        reach
    }

    fn source(&mut self, source: &SecretSource) {
        match source {
            SecretSource::Env(variable) => self.variables.insert(variable.clone()),
            SecretSource::File(path) => self.files.insert(path.clone()),
        };
    }
}

impl fmt::Display for ManifestReach {
    /// Writes one line for each kind, escaped and shortened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("requests to", &self.servers),
            ("environment variables", &self.variables),
            ("files", &self.files),
            ("folders", &self.folders),
            ("knowledge", &self.knowledge),
            ("language models", &self.models),
            ("dispatch of", &self.dispatch),
        ];
        for (kind, listed) in kinds.into_iter().filter(|(_, listed)| !listed.is_empty()) {
            write!(f, "\n- {kind}: ")?;
            for (number, entry) in listed.iter().take(MOST_LISTED).enumerate() {
                let comma = if number == 0 { "" } else { ", " };
                let shown: String = entry.chars().take(MOST_SHOWN).collect();
                write!(f, "{comma}{}", printable(&shown))?;
            }
            if let Some(more) = listed.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
                write!(f, ", and {more} more")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_manifest_names_is_listed_escaped() {
        let text = "dispatch: [\"execute.tool.t.*\"]\n\
            models: { m: { api: openai-chat, url: \"http://localhost:9/v1\", model: x, secret: { env: KEY } } }\n\
            items:\n  \"t/a\":\n    filesystem: [{ path: \"data\\u001b[2J\", as: /d, access: rw }]\n    \
            http: [{ host: a.example, schemes: [https], ports: [8443] }]\n    \
            secrets: [{ name: S, from: { file: key.txt }, header: authorization, host: b.example }]\n    \
            knowledge: [{ scope: x/ }]\n";
        let (manifest, _) = match Manifest::parse(text, "caps.yaml", "/p") {
            Ok(read) => read,
            Err(problems) => panic!("{problems}"),
        };
        let shown = ManifestReach::from_manifest(&manifest).to_string();
        for part in [
            "https://a.example:8443",
            "https://b.example",
            "environment variables: KEY",
            "/p/key.txt",
            "(to write)",
            "knowledge: x/",
            "m at http://localhost:9",
            "execute.tool.t.*",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        assert_eq!(ManifestReach::from_manifest(&Manifest::deny_all()).to_string(), "");
    }

    #[test]
    fn a_long_list_is_shortened() {
        let folders = (0..30).map(|number| format!("/{number}")).collect();
        let shown = ManifestReach { folders, ..ManifestReach::default() }.to_string();
        assert!(shown.ends_with(", and 10 more"), "{shown}");
    }
}
