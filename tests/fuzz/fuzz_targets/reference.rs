//! References and ranges, as users type them, and as lockfiles and lists of tags contain them: the first line is a
//! request, the others are tags.
#![no_main]

use graph_registry::range::{Range, RangeError, Request, satisfying, versions_of};
use graph_registry::reference::{Location, Reference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (first, tags) = text.split_once('\n').unwrap_or((text, ""));
    let tags: Vec<String> = tags.lines().take(100).map(str::to_owned).collect();
    match first.parse::<Reference>() {
        Ok(reference) => spelled(&reference),
        Err(error) => shown(&error.to_string()),
    }
    match first.parse::<Range>() {
        Ok(range) => {
            let again = range.to_string().parse::<Range>().expect("what is written can be read");
            assert_eq!(again, range, "another range");
        }
        Err(error @ RangeError::Syntax { column, .. }) => {
            assert!((1..=first.chars().count() + 1).contains(&column), "column {column} of {first:?}");
            shown(&error.to_string());
        }
        Err(error) => shown(&error.to_string()),
    }
    match first.parse::<Request>() {
        Ok(Request::Range { versions, range }) => match satisfying(&versions, &tags, &range) {
            Ok(found) => {
                assert!(!found.is_empty(), "no version, and no error");
                for reference in found {
                    let tag = reference.tag.as_ref().expect("a version has a tag");
                    assert!(tags.contains(tag), "a tag that was not listed: {tag}");
                    spelled(&reference);
                }
            }
            Err(error) => shown(&error.to_string()),
        },
        Ok(Request::Item { .. } | Request::Reference(_)) => {}
        Err(error) => shown(&error.to_string()),
    }
});

/// Checks that a reference has one spelling, and so has the place of its versions.
fn spelled(reference: &Reference) {
    let written = reference.to_string();
    assert_eq!(written.parse::<Reference>().as_ref(), Ok(reference), "{written} reads as something else");
    if let Location::Registry { host, repository } = &reference.place {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:/".contains(c);
        assert!(host.chars().chain(repository.chars()).all(is_plain), "{written} would leave its URL");
        assert!(!repository.split('/').any(|part| part == ".."), "{written} would leave its URL");
    }
    let versions = versions_of(reference);
    assert_eq!(versions.to_string().parse::<Reference>(), Ok(versions), "the versions of {written}");
    for id in ["fuzz/item", "item"] {
        if let Some(base) = reference.base_of(id)
            && let Ok(below) = base.below(id, "1.0.0+b")
        {
            assert_eq!(below.base_of(id), Some(base), "{written} has another base");
        }
    }
}

/// Checks that a message can be printed: not empty, bounded, and without control characters.
fn shown(message: &str) {
    assert!(!message.is_empty() && message.len() < 8_000, "a message of {} bytes", message.len());
    assert!(!message.contains(|c: char| c.is_control()), "a message with control characters: {message:?}");
}
