//! The addresses that a registry sends a client to: `Location`, and `Link: <…>; rel="next"` of listings that come in pages
//! (RFC 8288, distribution specification 1.1).

use std::net::IpAddr;

#[cfg(feature = "http")]
use graph_core::capability::is_public;
#[cfg(feature = "http")]
use url::Host;
use url::Url;

use crate::manifest::shown;

/// The reasons for which an address in an answer is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The `Location` is not a URL.
    #[error("the `Location` `{field}`: {reason}")]
    Location {
        /// The header field, to be shown.
        field: String,
        /// The reason for which it is not a URL.
        reason: String,
    },
    /// The `Location` has a user's name or a password in it.
    #[error("a `Location` with a user's name in it")]
    UserName,
    /// The `Link` is not a URL, or not one of the registry.
    #[error("the `Link` `{field}`: {reason}")]
    Link {
        /// The target of the link, to be shown.
        field: String,
        /// The reason for which it is not followed.
        reason: String,
    },
}

/// Returns the URL in a `Location`, which may be relative to the requested URL.
pub fn location(from: &Url, field: &str) -> Result<Url, AddressError> {
    let to = from
        .join(field)
        .map_err(|error| AddressError::Location { field: shown(field), reason: error.to_string() })?;
    if has_user(&to) { Err(AddressError::UserName) } else { Ok(to) }
}

/// Returns the URL of the next page, from the value of a `Link` field; `None` if no link in it has the relation `next`.
/// It must have the same origin as the page that links to it.
pub fn next_page(from: &Url, field: &str) -> Result<Option<Url>, AddressError> {
    let Some(target) = target_of_next(field) else { return Ok(None) };
    let unusable = |reason: String| AddressError::Link { field: shown(target), reason };
    let url = from.join(target).map_err(|error| unusable(error.to_string()))?;
    if same_origin(&url, from) && !has_user(&url) {
        Ok(Some(url))
    } else {
        Err(unusable("the next page is at another host".to_owned()))
    }
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns the reason for which a redirect from one URL to another is refused; `None` if it is followed. A redirect
/// from https to http is always refused; any other redirect to http is followed only to this machine, or with
/// `plain_http`.
pub fn refuses(from: &Url, to: &Url, plain_http: bool) -> Option<&'static str> {
    match (from.scheme(), to.scheme()) {
        (_, "https") => None,
        ("https", _) => Some("refusing a redirect from https to http"),
        (_, "http") if plain_http || to.host_str().is_some_and(is_loopback) => None,
        (_, "http") => Some("it is not under TLS, and not on this machine"),
        _ => Some("it is neither http nor https"),
    }
}

/// Reports whether two URLs have the same scheme, host and port.
pub fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// Reports whether a host, with or without a port, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Reports whether the host of a URL is this machine or an address that is not public, in any notation: `127.1` and
/// `0x7f000001` are `127.0.0.1`. Names are not resolved.
#[cfg(feature = "http")]
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => true,
    }
}

/// Reports whether the host of a URL is local as by [`is_local`], or a name that resolves to an address that is not
/// public.
#[cfg(feature = "http")]
pub(crate) fn resolves_locally(url: &Url) -> bool {
    let resolved = || url.socket_addrs(|| None).is_ok_and(|all| all.iter().any(|one| !is_public(one.ip())));
    is_local(url) || resolved()
}

/// Returns the target of the first link with `rel="next"` in the value of a `Link` field.
fn target_of_next(field: &str) -> Option<&str> {
    let mut rest = field;
    while let Some((_, link)) = rest.split_once('<') {
        let (target, after) = link.split_once('>')?;
        let (parameters, others) = split_outside_quotes(after, ',');
        if is_next(parameters) {
            return Some(target);
        }
        rest = others;
    }
    None
}

/// Reports whether the parameters of a link, each after a `;`, have the relation `next`.
fn is_next(parameters: &str) -> bool {
    let mut rest = parameters;
    while !rest.is_empty() {
        let (parameter, others) = split_outside_quotes(rest, ';');
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        if name.trim().eq_ignore_ascii_case("rel") && relations.any(|it| it.eq_ignore_ascii_case("next")) {
            return true;
        }
        rest = others;
    }
    false
}

/// Splits a text at the first separator outside of quotes. If there is none, the second part is empty.
fn split_outside_quotes(text: &str, separator: char) -> (&str, &str) {
    let mut is_quoted = false;
    let at = text.find(|c: char| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    });
    at.map_or((text, ""), |at| (&text[..at], &text[at + separator.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        for field in [
            r#"</v2/a/tags/list?n=2&last=b>; rel="next""#,
            "</v2/a/tags/list?n=2&last=b>;rel=next",
            r#"</first>; rel="first"; title="a, <b>; rel=next", </v2/a/tags/list?n=2&last=b>; REL="last Next""#,
        ] {
            assert_eq!(target_of_next(field), Some("/v2/a/tags/list?n=2&last=b"), "{field}");
        }
        for field in ["", "/next; rel=next", "</a", r#"</a>; rel="prev""#, r#"</a>; title="rel""#, "</a>"] {
            assert_eq!(target_of_next(field), None, "{field}");
        }
    }

    #[test]
    fn what_began_under_tls_never_goes_on_without_it() {
        let url = |text: &str| Url::parse(text).unwrap();
        let (safe, local) = (url("https://registry.example/v2/"), url("http://localhost:5000/v2/"));
        for plain_http in [false, true] {
            assert!(refuses(&safe, &url("http://registry.example/blob"), plain_http).is_some());
            assert!(refuses(&safe, &url("http://127.0.0.1/blob"), plain_http).is_some());
            assert_eq!(refuses(&safe, &url("https://blobs.example/blob"), plain_http), None);
            assert_eq!(refuses(&local, &url("http://127.0.0.1:9/blob"), plain_http), None);
            assert!(refuses(&local, &url("file:///etc/passwd"), plain_http).is_some());
            assert_eq!(refuses(&local, &url("http://blobs.example/"), plain_http).is_none(), plain_http);
        }
    }

    #[test]
    fn an_address_is_local_however_it_is_written() {
        for host in [
            "localhost",
            "x.localhost:5000",
            "127.0.0.1:22",
            "127.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "0",
            "10.0.0.1",
            "10.1",
            "172.16.0.1",
            "192.168.1",
            "169.254.169.254",
            "2852039166",
            "100.100.100.200",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[64:ff9b::7f00:1]",
        ] {
            assert!(is_local(&Url::parse(&format!("https://{host}/v2/")).unwrap()), "{host}");
        }
        for host in ["registry.example", "localhost.example", "1.1.1.1", "8.8.8.8:5000", "[2606:4700::1111]"]
        {
            assert!(!is_local(&Url::parse(&format!("https://{host}/v2/")).unwrap()), "{host}");
        }
        assert!(resolves_locally(&Url::parse("http://localhost:5000/v2/").unwrap()));
    }

    #[test]
    fn the_next_page_is_at_the_same_origin_and_names_no_user() {
        let from = Url::parse("https://r.example/v2/a/tags/list?n=2").unwrap();
        let next = |target: &str| next_page(&from, &format!("<{target}>; rel=next"));
        for (target, url) in [
            ("/v2/a/tags/list?last=b", "https://r.example/v2/a/tags/list?last=b"),
            ("?last=b", "https://r.example/v2/a/tags/list?last=b"),
            ("https://R.example:443/x", "https://r.example/x"),
        ] {
            assert_eq!(next(target).unwrap().unwrap().as_str(), url);
        }
        for target in [
            "http://r.example/x",
            "//other.example/x",
            "https://me@r.example/x",
            "https://r.example:1/",
            "data:,x",
        ] {
            let error = next(target).unwrap_err().to_string();
            assert!(error.contains(target), "{error}");
        }
        assert_eq!(next_page(&from, "</x>; rel=prev"), Ok(None));
    }

    proptest! {
        #[test]
        fn no_field_panics(field in "[a-z<>=;,\"ä ]{0,40}(; rel=next)?") {
            let _ = target_of_next(&field);
        }
    }
}
