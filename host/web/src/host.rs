//! Functions of the native host for other hosts of components.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use graph_core::capability::{self, EffectiveGrant, HttpField, HttpResponse, Scheme, SecretValue};
use graph_core::digest::Digest;
use graph_core::json;
use graph_core::ranking::{self, NO_WORD, Query};

use crate::read;

/// Converts a JSON text of a component to canonical JSON; the error describes the problem.
pub fn read_json(text: &str) -> Result<String, String> {
    match json::parse_strict(text, json::MAX_DEPTH, json::TreeLimit::VALUE) {
        Ok(value) => Ok(json::canonical_string(&value)),
        Err(error) => Err(error.to_string()),
    }
}

/// Search that ranks entries of knowledge as the native store does.
#[derive(Debug)]
pub struct KnowledgeRanking(ranking::Ranking);

impl KnowledgeRanking {
    /// Starts a search for at most `limit` entries below a prefix that contain all words of a query. The error says why the query is
    /// invalid.
    pub fn open(prefix: &str, query: &str, limit: u32) -> Result<Self, String> {
        let query = Query::new(query).ok_or(NO_WORD)?;
        Ok(Self(ranking::Ranking::new(query, prefix, limit as usize)))
    }

    /// Adds an entry.
    pub fn add(&mut self, key: &str, text: &str) {
        self.0.add(key, text);
    }

    /// Returns the keys of the matches, the best first.
    pub fn best(&self) -> Vec<String> {
        self.0.best()
    }

    /// Returns the excerpt of a match's text.
    pub fn excerpt(&self, text: &str) -> String {
        self.0.excerpt(text)
    }
}

/// Random numbers of one call.
#[derive(Debug)]
pub struct SeededRandom(ChaCha20Rng);

impl SeededRandom {
    /// Starts the stream of a seed of 32 bytes. A seed of another length is replaced by its digest.
    pub fn from_seed(seed: &[u8]) -> Self {
        Self(ChaCha20Rng::from_seed(whole(seed)))
    }

    /// Returns the next bytes of the stream.
    pub fn bytes(&mut self, length: u32) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// Returns the next 64 bits of the stream, as a number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Returns a seed of 32 bytes unchanged; one of another length is replaced by its digest.
fn whole(seed: &[u8]) -> [u8; 32] {
    <[u8; 32]>::try_from(seed).unwrap_or_else(|_| *Digest::of_bytes(seed).as_bytes())
}

/// Derives the seed of a component that another one calls.
pub fn call_seed(seed: &[u8], number: u64, item: &str) -> [u8; 32] {
    *capability::call_seed(&whole(seed), number, item).as_bytes()
}

/// Outgoing requests of a component, with the secrets that it is granted.
#[derive(Debug)]
pub struct OutgoingRequests(capability::OutgoingGrant);

impl OutgoingRequests {
    /// Reads a grant, as JSON; `secrets` has the values of its secrets, by name. A missing or unusable value is an error.
    pub fn open(grant: &str, secrets: &[(String, String)]) -> Result<Self, String> {
        let grant: EffectiveGrant = read::document("grant", grant).map_err(|problem| problem.message)?;
        let secrets = grant.secrets.iter().map(|rule| {
            let value = secrets.iter().find(|(name, _)| *name == rule.name);
            let (_, value) =
                value.ok_or_else(|| format!("the value of the secret `{}` is missing", rule.name))?;
            SecretValue::new(rule, value.clone()).map_err(|error| error.to_string())
        });
        let secrets = secrets.collect::<Result<_, _>>()?;
        Ok(Self(capability::OutgoingGrant { rules: grant.http, secrets }))
    }

    /// Checks a request; returns the fields to send, with the values of secrets.
    pub fn prepare(
        &self,
        scheme: &str,
        host: &str,
        port: u16,
        method: &str,
        mut fields: Vec<HttpField>,
    ) -> Result<Vec<HttpField>, String> {
        let known = [Scheme::Http, Scheme::Https].into_iter().find(|known| known.as_str() == scheme);
        let scheme = known.ok_or("a request goes by http or https")?;
        match self.0.prepare(scheme, host, port, method, &mut fields) {
            Ok(_) => Ok(fields),
            Err(denied) => Err(denied.to_string()),
        }
    }

    /// Removes the values of secrets from a response; returns its fields and its body.
    pub fn receive(
        &self,
        host: &str,
        status: u16,
        fields: Vec<HttpField>,
        body: Vec<u8>,
    ) -> Result<(Vec<HttpField>, Vec<u8>), String> {
        let received = self.0.receive(host, HttpResponse { status, fields, body });
        received.map(|HttpResponse { fields, body, .. }| (fields, body)).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_has_the_secret_for_its_host() {
        let grant = r#"{"kinds": [], "filesystem": [], "limits": {"fuel": 1, "memory": 1, "timeout": 1, "output": 1, "log": 1},
            "http": [{"host": "a.example", "schemes": ["https"], "ports": [443], "methods": ["GET"]}],
            "secrets": [{"name": "TOKEN", "from": {"env": "TOKEN"}, "header": "authorization", "host": "a.example", "schemes": ["https"]}]}"#;
        assert_eq!(
            OutgoingRequests::open(grant, &[]).unwrap_err(),
            "the value of the secret `TOKEN` is missing"
        );
        let value = |value: &str| [("TOKEN".to_owned(), value.to_owned())];
        assert!(OutgoingRequests::open(grant, &value("short")).unwrap_err().contains("8 to 8192 bytes"));
        let outgoing = OutgoingRequests::open(grant, &value("s3cr3t-value")).unwrap();
        let fields = vec![("authorization".to_owned(), b"Bearer {{secret:TOKEN}}".to_vec())];
        let sent = outgoing.prepare("https", "a.example", 443, "GET", fields.clone()).unwrap();
        assert_eq!(sent[0].1, b"Bearer s3cr3t-value");
        assert!(outgoing.prepare("https", "b.example", 443, "GET", fields.clone()).is_err());
        assert!(outgoing.prepare("ftp", "a.example", 443, "GET", fields.clone()).is_err());
        let received = outgoing.receive("a.example", 200, sent, b"s3cr3t-value".to_vec()).unwrap();
        assert_eq!(received.0[0], fields[0]);
        assert_eq!(received.1, b"{{secret:TOKEN}}");
    }

    #[test]
    fn a_text_is_read_strictly() {
        assert_eq!(
            read_json(r#" {"b": 18446744073709551615, "a": 1} "#),
            Ok(r#"{"a":1,"b":18446744073709551615}"#.to_owned())
        );
        assert!(read_json(r#"{"a": 1, "a": 2}"#).is_err());
        assert!(read_json(&"[".repeat(200)).is_err());
    }

    #[test]
    fn entries_are_ranked_or_it_is_said_what_is_wrong_with_the_query() {
        let entries = [("a/one", "a fox"), ("a/two", "a fox, fox"), ("b/one", "a fox")];
        let mut ranking = KnowledgeRanking::open("a/", "FOX", 1).unwrap();
        for (key, text) in &entries {
            ranking.add(key, text);
        }
        assert_eq!(ranking.best(), ["a/two"]);
        assert_eq!(ranking.excerpt("a fox,\n fox"), "a fox, fox");
        assert_eq!(KnowledgeRanking::open("", "!", 1).unwrap_err(), "the query holds no word");
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut first = SeededRandom::from_seed(&[7; 32]);
        let mut second = SeededRandom::from_seed(&[7; 32]);
        assert_eq!((first.bytes(5), first.number()), (second.bytes(5), second.number()));
        assert_ne!(first.number(), SeededRandom::from_seed(&[8; 32]).number());
    }
}
