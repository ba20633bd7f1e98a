//! Rules about the requests that a component may send, and about their addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The scheme of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// Over TLS, with the root certificates of the system.
    Https,
}

impl Scheme {
    /// Returns the word in a URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the default port.
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Requests that a component may send: to one host, by these schemes, ports and methods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRule {
    /// The host as a URL names it: a name in lower case, or an address without brackets.
    pub host: String,
    /// The schemes, sorted and without repetitions; never empty.
    pub schemes: Vec<Scheme>,
    /// The ports, sorted and without duplicates; the defaults of the schemes if the manifest names none.
    pub ports: Vec<u16>,
    /// The methods, in capital letters.
    pub methods: Vec<String>,
    /// Address ranges that the host may have in addition to public addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressRange>,
}

/// The reason why a request may not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RequestDenied {
    #[error("no entry of `http` in its grant names the host `{host}`")]
    Host { host: String },
    #[error("its grant does not allow `{host}` by {scheme}")]
    Scheme { host: String, scheme: Scheme },
    #[error("its grant does not allow port {port} of `{host}`")]
    Port { host: String, port: u16 },
    #[error("its grant does not allow {method} to `{host}`")]
    Method { host: String, method: String },
    #[error("the secret `{name}` is for {host} by {schemes} alone")]
    Secret { name: String, host: String, schemes: String },
}

/// Returns the rule that allows a request; the error names the property that the closest rule lacks.
pub fn permit<'r>(
    rules: &'r [HttpRule],
    scheme: Scheme,
    host: &str,
    port: u16,
    method: &str,
) -> Result<&'r HttpRule, RequestDenied> {
    let named = || host.to_owned();
    let mut denied = RequestDenied::Host { host: named() };
    for rule in rules.iter().filter(|rule| rule.host == host) {
        denied = if !rule.schemes.contains(&scheme) {
            RequestDenied::Scheme { host: named(), scheme }
        } else if !rule.ports.contains(&port) {
            RequestDenied::Port { host: named(), port }
        } else if !rule.methods.iter().any(|known| known == method) {
            RequestDenied::Method { host: named(), method: method.to_owned() }
        } else {
            return Ok(rule);
        };
    }
    Err(denied)
}

impl HttpRule {
    /// Checks whether a request of the rule may go to an address: a public one, or one that the rule names.
    pub fn reaches(&self, address: IpAddr) -> bool {
        is_public(address) || self.addresses.iter().any(|range| range.contains(address))
    }

    /// Returns the requests that both rules allow; `None` if there are none.
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        fn both<T: Clone + PartialEq>(one: &[T], other: &[T]) -> Vec<T> {
            one.iter().filter(|value| other.contains(value)).cloned().collect()
        }
        let rule = Self {
            host: self.host.clone(),
            schemes: both(&self.schemes, &other.schemes),
            ports: both(&self.ports, &other.ports),
            methods: both(&self.methods, &other.methods),
            addresses: self
                .addresses
                .iter()
                .flat_map(|one| other.addresses.iter().filter_map(|two| one.intersection(two)))
                .collect(),
        };
        let is_some = self.host == other.host
            && !(rule.schemes.is_empty() || rule.ports.is_empty() || rule.methods.is_empty());
        is_some.then_some(rule)
    }
}

/// A range of addresses: `127.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    address: IpAddr,
    prefix: u8,
}

/// A text that is not a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not an address, or a range such as `10.0.0.0/8` whose address ends with zeros")]
pub struct ParseAddressError;

impl AddressRange {
    /// Checks whether an address is in the range. An IPv4 address equals that address mapped into IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                shift(own.to_bits().into(), 32, self.prefix) == shift(other.to_bits().into(), 32, self.prefix)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                shift(own.to_bits(), 128, self.prefix) == shift(other.to_bits(), 128, self.prefix)
            }
            _ => false,
        }
    }

    /// Returns the smaller of two ranges if it is inside the other one.
    fn intersection(&self, other: &Self) -> Option<Self> {
        let (wide, narrow) = if self.prefix <= other.prefix { (self, other) } else { (other, self) };
        wide.contains(narrow.address).then_some(*narrow)
    }
}

/// Returns the first `prefix` of `bits` bits.
fn shift(value: u128, bits: u32, prefix: u8) -> u128 {
    value.checked_shr(bits - u32::from(prefix)).unwrap_or(0)
}

impl FromStr for AddressRange {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ParseAddressError)?;
        let bits: u8 = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(digits) if digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= bits).ok_or(ParseAddressError)?
            }
            Some(_) => return Err(ParseAddressError),
        };
        let value = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let below = u32::from(bits - prefix);
        let tail = if below == 128 { u128::MAX } else { (1 << below) - 1 };
        let is_mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
        if value & tail != 0 || is_mapped {
            return Err(ParseAddressError);
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl TryFrom<String> for AddressRange {
    type Error = ParseAddressError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> Self {
        range.to_string()
    }
}

/// Checks whether an address belongs to the internet, and not to the machine itself, its networks, its cloud's metadata service or a
/// reserved range (RFC 6890 and the IANA special-purpose registries). An IPv6 address that contains an IPv4 address is judged by that one.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a == 10
        || a == 127
        || a >= 224
        || (a == 100 && (64..=127).contains(&b))
        || (a == 169 && b == 254)
        || (a == 172 && (16..=31).contains(&b))
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match segments {
        // NAT64 (RFC 6052) and its local use (RFC 8215): the gateway decides about the destination.
        [0x64, 0xff9b, ..] => false,
        // The address of the gateway in a 6to4 address.
        [0x2002, high, low, ..] => is_public_v4(embedded(high, low)),
        // Teredo, ORCHID, benchmarking and other protocol assignments; documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Global unicast; everything else is local, multicast, unspecified, deprecated or reserved.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// Checks whether a text can be the host of a rule: a name in lower case, or an address.
pub(super) fn is_host(text: &str) -> bool {
    if text.parse::<IpAddr>().is_ok() {
        return true;
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
    };
    // A name that ends with digits is an address to some resolvers.
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= 253 && text.split('.').all(is_label) && !last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Checks whether a text is a method: a token of RFC 9110 in capital letters.
pub(super) fn is_method(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rule() -> HttpRule {
        HttpRule {
            host: "api.acme.com".to_owned(),
            schemes: vec![Scheme::Https],
            ports: vec![443, 8443],
            methods: vec!["GET".to_owned(), "POST".to_owned()],
            addresses: vec!["10.1.0.0/16".parse().unwrap()],
        }
    }

    #[test]
    fn requests_are_permitted_by_all_four() {
        let rules = [rule(), HttpRule { host: "b".to_owned(), ..rule() }];
        let ask = |scheme, host, port, method| permit(&rules, scheme, host, port, method).map(|_| ());
        assert_eq!(ask(Scheme::Https, "api.acme.com", 443, "GET"), Ok(()));
        for (scheme, host, port, method, message) in [
            (
                Scheme::Https,
                "acme.com",
                443,
                "GET",
                "no entry of `http` in its grant names the host `acme.com`",
            ),
            (
                Scheme::Https,
                "x.api.acme.com",
                443,
                "GET",
                "no entry of `http` in its grant names the host `x.api.acme.com`",
            ),
            (Scheme::Http, "api.acme.com", 443, "GET", "its grant does not allow `api.acme.com` by http"),
            (Scheme::Https, "api.acme.com", 80, "GET", "its grant does not allow port 80 of `api.acme.com`"),
            (Scheme::Https, "api.acme.com", 443, "PUT", "its grant does not allow PUT to `api.acme.com`"),
        ] {
            assert_eq!(ask(scheme, host, port, method).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn only_public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "2a00::1",
            "100.63.0.1",
            "172.32.0.1",
            "::ffff:8.8.8.8",
            "2002:808:808::",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn ranges_hold_addresses() {
        for (range, address, expected) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1/32", "127.0.0.2", false),
            ("127.0.0.0/8", "::ffff:127.3.4.5", true),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
        ] {
            let range: AddressRange = range.parse().unwrap();
            assert_eq!(range.contains(address.parse().unwrap()), expected, "{range} {address}");
        }
        for text in [
            "",
            "127.0.0.1/33",
            "127.0.0.1/8",
            "::1/129",
            "localhost",
            "127.1",
            "1.1.1.1/",
            "1.1.1.1/+8",
            "::ffff:1.2.3.4",
        ] {
            assert!(text.parse::<AddressRange>().is_err(), "{text}");
        }
        let all: AddressRange = "10.1.0.0/16".parse().unwrap();
        assert!(rule().reaches("10.1.2.3".parse().unwrap()) && !rule().reaches("10.2.0.1".parse().unwrap()));
        assert_eq!(String::from(all), "10.1.0.0/16");
    }

    #[test]
    fn rules_narrow_each_other() {
        let parent = HttpRule {
            ports: vec![443],
            methods: vec!["GET".to_owned(), "PUT".to_owned()],
            addresses: vec!["10.1.2.0/24".parse().unwrap()],
            ..rule()
        };
        let both = rule().intersection(&parent).unwrap();
        assert_eq!((both.ports, both.methods), (vec![443], vec!["GET".to_owned()]));
        assert_eq!(both.addresses, parent.addresses);
        assert_eq!(rule().intersection(&HttpRule { host: "b".to_owned(), ..rule() }), None);
        assert_eq!(rule().intersection(&HttpRule { ports: vec![1], ..rule() }), None);
    }

    #[test]
    fn hosts_are_names_or_addresses() {
        for text in ["a", "api.acme.com", "xn--bcher-kva.example", "127.0.0.1", "::1", "a_b.c"] {
            assert!(is_host(text), "{text}");
        }
        for text in [
            "",
            "A.com",
            "a..b",
            "a.",
            "-a",
            "a/b",
            "a:80",
            "[::1]",
            "0x7f.1",
            "1.2",
            "*.acme.com",
            "a b",
            "bücher.de",
        ] {
            assert!(!is_host(text), "{text}");
        }
    }
}
