//! Resolution of URI references according to RFC 3986 (section 5.2).

/// The parts of a reference without its fragment.
#[derive(Clone, Copy)]
struct Parts<'t> {
    scheme: Option<&'t str>,
    authority: Option<&'t str>,
    path: &'t str,
    query: Option<&'t str>,
}

/// Splits a reference into the part before `#` and the fragment after it, which may be empty.
pub(super) fn split(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

/// Resolves a reference without a fragment against a base without a fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let (base, reference) = (Parts::parse(base), Parts::parse(reference));
    if reference.scheme.is_some() {
        return write(reference.scheme, reference.authority, &without_dots(reference.path), reference.query);
    }
    if reference.authority.is_some() {
        return write(base.scheme, reference.authority, &without_dots(reference.path), reference.query);
    }
    if reference.path.is_empty() {
        return write(base.scheme, base.authority, base.path, reference.query.or(base.query));
    }
    let path = if reference.path.starts_with('/') {
        without_dots(reference.path)
    } else if base.authority.is_some() && base.path.is_empty() {
        without_dots(&format!("/{}", reference.path))
    } else {
        let folder = base.path.rfind('/').map_or("", |at| &base.path[..=at]);
        without_dots(&format!("{folder}{}", reference.path))
    };
    write(base.scheme, base.authority, &path, reference.query)
}

impl<'t> Parts<'t> {
    fn parse(text: &'t str) -> Self {
        let is_scheme = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        };
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, text),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        Self { scheme, authority, path, query }
    }
}

fn write(scheme: Option<&str>, authority: Option<&str>, path: &str, query: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(scheme) = scheme {
        text.push_str(scheme);
        text.push(':');
    }
    if let Some(authority) = authority {
        text.push_str("//");
        text.push_str(authority);
    }
    text.push_str(path);
    if let Some(query) = query {
        text.push('?');
        text.push_str(query);
    }
    text
}

/// Removes `.` and `..` from a path; an opaque one, such as that of a URN, is unchanged.
fn without_dots(path: &str) -> String {
    if !path.contains('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                // The empty segment before a leading slash is kept.
                if segment == ".." && kept.len() > usize::from(path.starts_with('/')) {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept.join("/")
}

/// Decodes the percent-encoded bytes of a fragment; `None` if the result is not UTF-8.
pub(in crate::schema) fn decoded(fragment: &str) -> Option<String> {
    let hex = |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16));
    let bytes = fragment.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = (hex(bytes.get(at + 1)), hex(bytes.get(at + 2)));
        if let (b'%', (Some(high), Some(low))) = (byte, digits) {
            found.push(u8::try_from(high * 16 + low).ok()?);
            at += 3;
        } else {
            found.push(byte);
            at += 1;
        }
    }
    String::from_utf8(found).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_rfc_3986_shows() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{reference}");
        }
        assert_eq!(resolve("urn:uuid:1", "#".split('#').next().unwrap_or("")), "urn:uuid:1");
        assert_eq!(resolve("http://a", "b"), "http://a/b");
        assert_eq!(resolve("json-schema:///", "b.json"), "json-schema:///b.json");
    }

    #[test]
    fn fragments_are_decoded() {
        assert_eq!(split("a#b%25"), ("a", "b%25"));
        assert_eq!(decoded("a%25b%7e%"), Some("a%b~%".to_owned()));
        assert_eq!(decoded("%ff"), None);
    }
}
