//! Signing from within a run.
//!
//! A signature states that its owner vouches for a text, so an untrusted graph must not be able to obtain one by
//! itself. Four conditions have to hold: the manifest names the item without wildcards, the user names a key for this
//! run, the item is knowledge or a directive of the project or of a folder that the command line names, and it can be
//! read. Each signature raises a warning of the run, which is in its signed records.

use graph_core::item::ItemType;
use graph_core::node::{Category, Failure};
use graph_core::text_item::read_text_item;
use graph_core::trust::{CommentMark, TextKind, TextRefusal, TextStanding, sign_text, verify_text};
use graph_store::held::FilePlace;
use serde_json::{Value, json};

use super::ItemOperations;
use crate::authoring::signing::replace_text;
use crate::clock::now;
use crate::error::Error;
use crate::items::locate::Space;
use crate::items::text_items::{TextError, format_of};
use crate::project::paths;

impl ItemOperations {
    /// Signs a text item in place.
    pub(super) fn sign(
        &self,
        item_type: ItemType,
        item: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let denied = |message: String| Failure::new(Category::Denied, message);
        let Some(key) = &self.signing_key else {
            return Err(denied(format!("`{item}` is not signed: this run was given no key to sign with")));
        };
        let file = self
            .texts
            .locator
            .file(item_type, item)
            .map_err(|error| TextError::Find(error).into_failure())?;
        if !matches!(file.space, Space::Named | Space::Project) {
            return Err(denied(format!(
                "`{item}` is not signed: a run signs items of its project alone, and this one is {}",
                file.shown()
            )));
        }
        let permanent = |message: String| Failure::new(Category::Permanent, message);
        let extension = file.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let mark = CommentMark::for_extension(extension)
            .ok_or_else(|| permanent(format!("`{item}` is in a format that cannot carry a signature")))?;
        let text = file.text().map_err(|error| Error::read("the item", &file.path, &error));
        let text = text.map_err(|error| permanent(error.message().to_owned()))?;
        let shown = file.shown();
        read_text_item(item_type, format_of(&file.path), &shown, &text)
            .map_err(|problems| permanent(TextError::Invalid(problems).to_string()))?;
        let at = now();
        let kind = TextKind::from(item_type);
        // A run must not sign an item that the trust store requires other keys for: the text may have been replaced since they signed.
        if let Err(few) = self.texts.trust.still_enough(&file.id, &[key.id()], at) {
            return Err(denied(format!("`{item}` is not signed by this run: {few}")));
        }
        let before = verify_text(kind, &file.id, &text, &self.texts.trust, at);
        if let TextStanding::Invalid(refusal @ TextRefusal::Required(_)) = before {
            return Err(denied(refusal.of_file(&shown)));
        }
        let signed = sign_text(kind, &file.id, &text, mark, key, at);
        let place = match file.space {
            Space::Project => paths::named(&file.path),
            _ => FilePlace::at(&file.path),
        };
        replace_text(&place, &signed).map_err(|error| permanent(error.message().to_owned()))?;
        let after = verify_text(kind, &file.id, &signed, &self.texts.trust, at);
        let trusted = matches!(after, TextStanding::Signed { .. });
        warnings.push(format!(
            "the run signed {} `{}` with the key {}",
            item_type.as_str(),
            file.id,
            key.id().short()
        ));
        Ok(json!({
            "item_id": file.id,
            "item_type": item_type,
            "signed": true,
            "time": at.to_string(),
            "key_id": key.id(),
            "trusted": trusted,
        }))
    }
}
