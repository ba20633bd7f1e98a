//! The hooks of the project and of the user, which every run dispatches after the hooks of its graph.

use std::path::Path;
use std::sync::Arc;

use graph_core::hook_event::HookLayer;
use graph_core::json::{self, TreeLimit};
use graph_walker::document::{load_hooks, load_hooks_snapshot};
use graph_walker::hook::Hook;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::notice::{Notice, NoticeObserver};
use crate::project::MARK;
use crate::project::paths::{self, FileKind};
use crate::project::text_file;
use crate::project::user_home::Home;

/// The file of hooks, in a project's `.ai` folder and in the user's space.
const FILE: &str = "hooks.yaml";

/// Hooks from outside of a graph.
#[derive(Clone, Debug, Default)]
pub struct OuterHooks {
    /// The hooks of the project, then those of the user.
    pub hooks: Arc<Vec<Hook>>,
    /// The document that a run keeps; `None` without hooks.
    pub document: Option<Value>,
    /// The files of the project and of the user, if they exist: the name in messages, and the text.
    pub texts: [Option<(String, String)>; 2],
}

impl OuterHooks {
    /// Reads the hooks of a project, `.ai/hooks.yaml`, and of the user's space, `hooks.yaml`.
    pub fn read(project: Option<&Path>, home: &Home, notices: &dyn NoticeObserver) -> Result<Self> {
        let of_project = project.map(|project| project.join(MARK).join(FILE));
        let places = [(HookLayer::Project, of_project), (HookLayer::Infra, Some(home.root().join(FILE)))];
        let mut hooks = Vec::new();
        let mut kept = [Value::Array(Vec::new()), Value::Array(Vec::new())];
        let mut texts = [None, None];
        for (((layer, path), kept), written) in places.into_iter().zip(&mut kept).zip(&mut texts) {
            let Some(path) = path else { continue };
            let read = match layer {
                HookLayer::Project => {
                    paths::entry(&paths::named(&path), FileKind::File, home.base())?;
                    text_file::read_in_project(&path)
                }
                _ => text_file::read(&path),
            };
            let text = match read {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::read("the hooks", &path, &error)),
            };
            let loaded = load_hooks(&home.base().show(&path), &text, layer)?;
            if !loaded.warnings.is_empty() {
                notices.notice(Notice::Doubtful(&loaded.warnings));
            }
            hooks.extend(loaded.hooks);
            *kept = loaded.document;
            *written = Some((FILE.to_owned(), text));
        }
        let [of_project, of_user] = kept;
        let document = (!hooks.is_empty()).then(|| json!({ "project": of_project, "infra": of_user }));
        Ok(Self { hooks: Arc::new(hooks), document, texts })
    }

    /// Reads the hooks that a run was started with from the document that it keeps.
    pub(crate) fn of_snapshot(text: &str) -> Result<Self> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Error::integrity(format!("the hooks that the run keeps cannot be read: {error}"))
        };
        let document: Value = json::read(text, TreeLimit::DOCUMENT).map_err(|error| unreadable(&error))?;
        let mut hooks = Vec::new();
        for (key, layer) in [("project", HookLayer::Project), ("infra", HookLayer::Infra)] {
            hooks.extend(load_hooks_snapshot(&document[key], layer).map_err(|error| unreadable(&error))?);
        }
        Ok(Self { hooks: Arc::new(hooks), document: Some(document), texts: [None, None] })
    }
}
