//! The authentication that a registry requires: challenges in `WWW-Authenticate` (RFC 9110, and the token
//! authentication of the distribution project).

/// A challenge of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// Basic authentication, with the user's name and password.
    Basic,
    /// Bearer authentication, with a token that has to be requested first.
    Bearer {
        /// The URL from which tokens are requested.
        realm: String,
        /// The service that the token is for.
        service: Option<String>,
        /// The scope that the token has to permit.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads the value of a `WWW-Authenticate` field, and returns its first known challenge.
    pub fn read(field: &str) -> Option<Self> {
        let (scheme, rest) = field.trim().split_once(' ').unwrap_or((field.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let parameters = parameters(rest);
        let find = |name: &str| {
            parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        Some(Self::Bearer { realm: find("realm")?, service: find("service"), scope: find("scope") })
    }
}

/// Parses parameters (`key="value", key=value`). In quotes, `\` escapes the next character.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim_matches([' ', ',', '\t']).to_owned();
        let mut value = String::new();
        if let Some(quoted) = after.strip_prefix('"') {
            let mut escaped = false;
            let end = quoted.char_indices().find(|(_, c)| {
                let ends = !escaped && *c == '"';
                let begins = !escaped && *c == '\\';
                if !ends && !begins {
                    value.push(*c);
                }
                escaped = begins;
                ends
            });
            rest = end.map_or("", |(at, _)| &quoted[at + 1..]);
        } else {
            let end = after.find(',').unwrap_or(after.len());
            after[..end].trim().clone_into(&mut value);
            rest = &after[end..];
        }
        found.push((key, value));
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn challenges_are_read() {
        let bearer = Challenge::read(
            r#"Bearer realm="https://auth.example/token",service="registry.example", scope="repository:a/b:pull,push""#,
        );
        let expected = Challenge::Bearer {
            realm: "https://auth.example/token".to_owned(),
            service: Some("registry.example".to_owned()),
            scope: Some("repository:a/b:pull,push".to_owned()),
        };
        assert_eq!(bearer, Some(expected));
        assert_eq!(Challenge::read(r#"Basic realm="x""#), Some(Challenge::Basic));
        assert_eq!(Challenge::read("basic"), Some(Challenge::Basic));
        let escaped = Challenge::read(r#"bearer realm="a\"b",service=c"#);
        let expected =
            Challenge::Bearer { realm: "a\"b".to_owned(), service: Some("c".to_owned()), scope: None };
        assert_eq!(escaped, Some(expected));
        for text in ["", "Negotiate", "Bearer", "Bearer service=x", "Bearer realm"] {
            assert_eq!(Challenge::read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_field_panics(text in "(Bearer )?[a-z=\", \\\\]{0,40}") {
            let _ = Challenge::read(&text);
        }
    }
}
