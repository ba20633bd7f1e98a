//! Search among the items that the capabilities permit.

use graph_core::id::path_of;
use graph_core::item::ItemType;
use graph_core::text_item::{SEARCH_FIELDS, SearchField, SearchQuery, SearchableFields};
use graph_core::trust::TextStanding;
use graph_core::work::{FuelExhausted, Meter, rates};
use serde_json::{Map, Value, json};

use super::{ItemOperations, Request};
use crate::clock::now;
use crate::items::locate::{self, ItemFile, Space, envelope_path};
use crate::items::operation_params::{DEFAULT_LIMIT, MOST_RESULTS};
use crate::items::precedence;

/// Limit of the unusable items that warnings name.
const MOST_WARNINGS: usize = 5;

/// A match without its text, which may be megabytes long: there may be thousands of items.
struct Found {
    score: u64,
    id: String,
    space: Space,
    title: Option<String>,
    description: Option<String>,
    snippet: String,
}

impl Found {
    fn of(score: u64, id: String, space: Space, item: &SearchableFields, query: &SearchQuery) -> Self {
        let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
        let (title, description) = (filled(&item.title), filled(&item.description));
        Self { score, id, space, title, description, snippet: query.snippet(item) }
    }
}

/// Sorts matches by descending score, then by id, and keeps at most `most` of them.
fn keep_best(found: &mut Vec<Found>, most: usize) {
    found.sort_by(|one, other| (other.score, &one.id).cmp(&(one.score, &other.id)));
    found.truncate(most);
}

impl ItemOperations {
    /// Returns the best matches, by descending score and then by id. Unusable items are left out, and named in
    /// warnings. Every item is charged to the task by its size before it is read.
    pub(super) fn search(
        &self,
        request: Request<'_>,
        params: &Map<String, Value>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, FuelExhausted> {
        let text = params.get("query").and_then(Value::as_str).unwrap_or_default();
        let limit = params.get("limit").and_then(Value::as_u64).unwrap_or(DEFAULT_LIMIT);
        let named: Vec<SearchField> = SEARCH_FIELDS
            .iter()
            .filter(|(name, _)| {
                params
                    .get("fields")
                    .and_then(Value::as_array)
                    .is_some_and(|fields| fields.iter().any(|field| field.as_str() == Some(*name)))
            })
            .map(|(_, field)| *field)
            .collect();
        let source = params.get("source").and_then(Value::as_str).unwrap_or("all");
        let query = SearchQuery::new(text, &named);
        let mut left_out = Vec::new();
        let mut found = Vec::new();
        let mut total = 0_u64;
        let most = usize::try_from(limit.min(MOST_RESULTS)).unwrap_or(usize::MAX);
        let item_type = request.item_type;
        for file in self.texts.locator.list(item_type) {
            if !is_from(file.space, source)
                || !in_scope(&file.id, request.item_id)
                || !self.may_list(request, &file.id)
            {
                continue;
            }
            let length = std::fs::metadata(&file.path).map_or(0, |file| file.len());
            meter.charge(rates::VISIT.saturating_add(length.saturating_mul(2 * rates::BYTE)))?;
            let (id, space) = (file.id.clone(), file.space);
            match self.searched(item_type, file) {
                Ok(item) => {
                    if let Some(score) = query.score(&item) {
                        total += 1;
                        found.push(Found::of(score, id, space, &item, &query));
                        if found.len() > 2 * most {
                            keep_best(&mut found, most);
                        }
                    }
                }
                Err(reason) => left_out.push(format!("the search leaves out `{id}`: {reason}")),
            }
        }
        let more = left_out.len().saturating_sub(MOST_WARNINGS);
        warnings.extend(left_out.into_iter().take(MOST_WARNINGS));
        if more > 0 {
            warnings.push(format!("the search leaves out {more} more items"));
        }
        keep_best(&mut found, most);
        let results: Vec<_> = found
            .into_iter()
            .map(|found| {
                json!({
                    "item_id": found.id,
                    "title": found.title,
                    "description": found.description,
                    "snippet": found.snippet,
                    "score": found.score,
                    "space": found.space,
                })
            })
            .collect();
        Ok(json!({ "item_type": item_type, "query": text, "total": total, "results": results }))
    }

    fn may_list(&self, request: Request<'_>, id: &str) -> bool {
        self.dispatch.permits_listing(request.item_type, id)
            && request.narrowed.is_none_or(|narrowed| narrowed.permits_listing(request.item_type, id))
    }

    /// Reads an item in the form that is searched; the error says why it cannot be used.
    fn searched(&self, item_type: ItemType, file: ItemFile) -> Result<SearchableFields, String> {
        let id = file.id.clone();
        if item_type != ItemType::Tool {
            let text = self.texts.read_file(item_type, file).map_err(|error| error.to_string())?;
            return Ok(text.item.searched(&id));
        }
        let description = if file.path.extension().is_some_and(|extension| extension == "wasm") {
            let envelope = envelope_path(&file.path);
            let envelope = envelope.is_file().then_some(envelope);
            let moment = locate::moment_of_superstep(self.texts.recorded);
            let verified = locate::verify(
                &id,
                &file,
                envelope.as_deref(),
                &self.texts.locator,
                &self.texts.trust,
                moment,
                self.allow_unsigned,
            )
            .and_then(|verified| {
                precedence::of_component(&file, &verified, &self.texts.trust, moment)?;
                Ok(verified)
            })
            .map_err(|error| error.message().to_owned())?;
            verified.statement().map(|statement| statement.predicate.description.summary.clone())
        } else {
            let shown = file.shown();
            let text = file.graph_text().map_err(|error| error.message().to_owned())?;
            let standing = file.graph_standing(&text, &self.texts.trust, now());
            if let TextStanding::Invalid(refusal) = &standing {
                return Err(refusal.of_file(&shown));
            }
            let loaded = graph_walker::document::load(&shown, &text, &id)
                .map_err(|problems| problems.to_lines().into_iter().next().unwrap_or_default())?;
            precedence::of_text(
                ItemType::Tool,
                &file,
                &text,
                &standing,
                &self.texts.trust,
                locate::moment_of_superstep(None),
            )
            .map_err(|error| error.message().to_owned())?;
            loaded.graph.description.clone()
        };
        Ok(SearchableFields {
            id,
            description: description.unwrap_or_default(),
            ..SearchableFields::default()
        })
    }
}

/// Checks whether `source` includes items of this space.
fn is_from(space: Space, source: &str) -> bool {
    match space {
        Space::Named | Space::Project => matches!(source, "all" | "project"),
        Space::User => matches!(source, "all" | "user"),
        Space::BuiltIn => matches!(source, "all" | "system"),
        Space::Installed => matches!(source, "all" | "installed" | "system"),
    }
}

/// Checks whether an id is at or below the `scope` of a search; an empty scope includes everything.
fn in_scope(id: &str, scope: &str) -> bool {
    let scope = path_of(scope);
    scope.is_empty() || id.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_an_id_or_what_is_below_it() {
        assert!(in_scope("a/b", "") && in_scope("a/b", "a") && in_scope("a/b", "a/b"));
        assert!(!in_scope("ab/c", "a") && !in_scope("a", "a/b"));
    }
}
