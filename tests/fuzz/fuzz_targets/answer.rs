//! Answers of registries: challenges, tokens, explanations of errors, listings and addresses. The first byte selects the kind.
#![no_main]

use graph_registry::answer::{
    Challenge, explanation, location, names, next_page, refuses, same_origin, token,
};
use libfuzzer_sys::fuzz_target;
use url::Url;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, body)) = bytes.split_first() else { return };
    let text = std::str::from_utf8(body);
    match (kind, text) {
        (b'c', Ok(field)) => challenge(field),
        (b'l', Ok(field)) => address(field),
        (b't', _) => match token(body) {
            Ok(token) => assert!(token.len() <= body.len(), "a token that was not in the answer"),
            Err(error) => shown(&error.to_string()),
        },
        (b'e', _) => {
            if let Some(told) = explanation(body) {
                shown(&told);
            }
        }
        (b'n', _) => match names(body, "tags", |name| name.len() < 100) {
            // Each name has two quotes, and a comma after the previous one.
            Ok(names) => {
                assert!(names.len() <= body.len() / 3 + 1 && names.iter().all(|name| name.len() < 100))
            }
            Err(error) => shown(&error.to_string()),
        },
        _ => {}
    }
});

/// Checks that a challenge is read again from the field that it is written as.
fn challenge(field: &str) {
    let Some(Challenge::Bearer { realm, service, scope }) = Challenge::read(field) else { return };
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut written = format!("Bearer realm=\"{}\"", quoted(&realm));
    for (name, value) in [("service", &service), ("scope", &scope)] {
        if let Some(value) = value {
            written.push_str(&format!(",{name}=\"{}\"", quoted(value)));
        }
    }
    assert_eq!(Challenge::read(&written), Some(Challenge::Bearer { realm, service, scope }), "{written}");
}

/// Checks that no address leads to a page of another host, from TLS to plain HTTP, or to a URL with a user in it.
fn address(field: &str) {
    for from in ["https://r.example/v2/a/tags/list?n=2", "http://127.0.0.1:5000/v2/a/tags/list"] {
        let from = Url::parse(from).expect("the address is a constant");
        match next_page(&from, field) {
            Ok(Some(next)) => {
                assert!(same_origin(&from, &next) && next.username().is_empty(), "{next}");
                assert_eq!(refuses(&from, &next, false), None, "{next}");
            }
            Ok(None) => {}
            Err(error) => shown(&error.to_string()),
        }
        match location(&from, field) {
            Ok(to) => {
                assert!(to.username().is_empty() && to.password().is_none(), "{to}");
                if refuses(&from, &to, false).is_none() {
                    let is_local =
                        to.host_str().is_some_and(|host| host == "localhost" || host.starts_with("127."));
                    assert!(to.scheme() == "https" || (from.scheme() == "http" && is_local), "{to}");
                }
            }
            Err(error) => shown(&error.to_string()),
        }
    }
}

/// Checks that a message can be printed: not empty, bounded, and without control characters.
fn shown(message: &str) {
    assert!(!message.is_empty() && message.len() < 2_000, "a message of {} bytes", message.len());
    assert!(!message.contains(|c: char| c.is_control()), "a message with control characters: {message:?}");
}
