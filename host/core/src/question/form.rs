//! The form of an `ask` node's question: templates may give parts of it, which are checked as the loader checks those that are
//! written out.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Question, is_plain, payload, shown};
use crate::schema::InputSchema;
use crate::template::kind;
use crate::work::{FuelExhausted, Meter};

/// The source of a part of an `ask` node's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormSource {
    /// The document does not state it.
    #[default]
    Absent,
    /// The document gives a literal, which the loader has checked.
    Document,
    /// A template gives the part, or a piece of it.
    Template,
}

/// The sources of an `ask` node's form. A template whose value is null does not omit its part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormSources {
    /// The source of `choices`.
    pub choices: FormSource,
    /// The source of `other`.
    pub other: FormSource,
    /// The source of `schema`.
    pub schema: FormSource,
    /// The source of `default`.
    pub default: FormSource,
}

impl FormSources {
    /// Checks the form of a question before it is asked: the loader's rules apply to values from templates. Checking the schema is charged
    /// to the meter.
    pub fn check(self, asked: &Value, meter: &Meter) -> Result<(), FormError> {
        let all = [self.choices, self.other, self.schema, self.default];
        if !all.contains(&FormSource::Template) {
            return Ok(());
        }
        let given = |key: &str| asked.get(key).unwrap_or(&Value::Null);
        if self.choices != FormSource::Absent {
            check_choices(given("choices")).map_err(FormError::Question)?;
        }
        if self.other == FormSource::Template && !given("other").is_boolean() {
            let found = kind(given("other"));
            return Err(FormError::Question(format!("`other` is {found}, and `true` or `false` is needed")));
        }
        if self.schema == FormSource::Template {
            let work = Meter::of_one_step();
            let checked = check_schema(given("schema"), &work);
            meter.charge(work.spent())?;
            checked.map_err(FormError::Question)?;
        }
        let default = given("default");
        if !default.is_null() {
            let form = payload(asked.clone(), None);
            let work = Meter::of_one_step();
            let accepted = Question::from_payload(&form).accept_within(default.clone(), &work);
            meter.charge(work.spent())?;
            if let Err(error) = accepted {
                let message = format!("`default` is no answer that the question accepts: {error}");
                return Err(FormError::Question(message));
            }
        }
        Ok(())
    }
}

/// The reason why a question cannot be asked.
#[derive(Debug)]
pub enum FormError {
    /// A template gives an invalid part of a form.
    Question(String),
    /// The fuel for the check is used up.
    Exhausted(FuelExhausted),
}

impl From<FuelExhausted> for FormError {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

fn check_schema(schema: &Value, meter: &Meter) -> Result<(), String> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(format!("`schema` is {}, and a JSON Schema is needed", kind(schema)));
    }
    InputSchema::compile(schema, meter).map(|_| ()).map_err(|errors| {
        let error = errors.first().map(ToString::to_string).unwrap_or_default();
        format!("`schema` is no JSON Schema that the host can use: {error}")
    })
}

/// Checks a list of choices: at least one, each a text, a number or a boolean, and no two that are typed alike.
pub fn check_choices(choices: &Value) -> Result<(), String> {
    let needed = "a list of texts, numbers or booleans is needed";
    let Value::Array(list) = choices else {
        return Err(format!("`choices` is {}, and {needed}", kind(choices)));
    };
    if list.is_empty() {
        return Err(format!("`choices` is an empty list, and {needed}"));
    }
    let mut known = BTreeSet::new();
    for choice in list {
        if !is_plain(choice) {
            return Err(format!("`choices` has {} in it, and {needed}", kind(choice)));
        }
        if !known.insert(shown(choice)) {
            return Err(format!("`choices` has `{}` twice", shown(choice)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_that_a_template_gives_is_checked_as_one_that_is_written() {
        let all = FormSource::Template;
        let sources = FormSources { choices: all, other: all, schema: all, default: all };
        let whole = |fields: Value| {
            let mut form = json!({ "question": "?", "choices": ["a"], "other": true, "schema": {} });
            form.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            form
        };
        let check = |form: Value| match sources.check(&form, &Meter::of_one_step()) {
            Ok(()) => String::new(),
            Err(FormError::Question(message)) => message,
            Err(FormError::Exhausted(exhausted)) => exhausted.to_string(),
        };
        for fine in
            [json!({}), json!({ "default": "a" }), json!({ "default": null }), json!({ "schema": true })]
        {
            assert_eq!(check(whole(fine)), "");
        }
        for (wrong, why) in [
            (json!({ "choices": [] }), "empty"),
            (json!({ "choices": null }), "null"),
            (json!({ "choices": "a" }), "is text"),
            (json!({ "choices": {} }), "an object"),
            (json!({ "choices": ["a", null] }), "null"),
            (json!({ "choices": ["a", { "id": 1 }] }), "an object"),
            (json!({ "choices": ["a", ["b"]] }), "a list"),
            (json!({ "choices": ["1", 1] }), "twice"),
            (json!({ "other": "yes" }), "`other`"),
            (json!({ "other": null }), "`other`"),
            (json!({ "schema": null }), "`schema`"),
            (json!({ "schema": "integer" }), "`schema`"),
            (json!({ "schema": { "type": 7 } }), "`schema`"),
            (json!({ "other": false, "default": "b" }), "`default`"),
            (json!({ "choices": [1], "default": { "a": 1 } }), "`default`"),
        ] {
            let told = check(whole(wrong.clone()));
            assert!(told.contains(why), "{wrong}: {told}");
        }
        // The loader has checked the literal parts, and a key whose value is null is ignored.
        assert!(FormSources::default().check(&json!({ "choices": null }), &Meter::of_one_step()).is_ok());
    }
}
