//! Hostile registries: they have the fixture's component, or a text, and answer as the fixture describes.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::time::Timestamp;
use graph_core::trust::{CommentMark, SigningKey, TextKind, sign_text};
use serde_json::{Value, json};

use super::fixture::{Fixture, generated};
use super::signing::{self, merge};
use crate::server::{Answer, Choice, Server};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// Contents of a registry.
struct Content {
    manifest: Vec<u8>,
    referrer: Vec<u8>,
    index: Vec<u8>,
    blobs: BTreeMap<String, Vec<u8>>,
    /// Replacements of `@NAME@` in a fixture.
    names: Vec<(&'static str, String)>,
}

fn digest(bytes: &[u8]) -> String {
    Digest::of_bytes(bytes).to_string()
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(bytes), "size": bytes.len() })
}

fn filled(text: &str, names: &[(&'static str, String)]) -> String {
    names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Applies the fixture's changes to a document: an RFC 7386 merge patch under `key`.
fn patched(mut document: Value, wanted: &Value, key: &str, names: &[(&'static str, String)]) -> Vec<u8> {
    if let Some(changes) = wanted.get(key) {
        merge(&mut document, changes);
    }
    filled(&document.to_string(), names).into_bytes()
}

/// The only layer of an honest artifact, and its description.
struct Layer {
    bytes: Vec<u8>,
    config: Value,
    media_type: &'static str,
    config_type: &'static str,
    artifact_type: Option<&'static str>,
}

impl Layer {
    /// Makes a layer of the fixture's component.
    fn component(fixture: &Fixture) -> Self {
        let bytes = fixture.component().unwrap();
        let config = json!({
            "created": "1970-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
            "layerDigests": [digest(&bytes)],
        });
        let config_type = "application/vnd.wasm.config.v0+json";
        Self { bytes, config, media_type: "application/wasm", config_type, artifact_type: None }
    }

    /// Makes a layer of a graph: its text `is`, signed `by` a key or `unsigned`, followed by `more`.
    fn text(fixture: &Fixture, text: &Value) -> Self {
        let plain = generated(&text["is"], &fixture.name);
        let by = u8::try_from(text.get("by").and_then(Value::as_u64).unwrap_or(1)).unwrap();
        let key = SigningKey::from_seed(&[by; 32]);
        let mut signed = sign_text(TextKind::Graph, "t/bad", &plain, CommentMark::Hash, &key, Timestamp(0));
        if text.get("unsigned").is_some() {
            signed = plain;
        }
        signed += text.get("more").and_then(Value::as_str).unwrap_or_default();
        Self {
            bytes: signed.into_bytes(),
            config: json!({ "id": "t/bad", "kind": "graph", "version": "1.0.0" }),
            media_type: "application/yaml",
            config_type: "application/vnd.graph-host.item.config.v1+json",
            artifact_type: Some("application/vnd.graph-host.graph.v1"),
        }
    }
}

impl Content {
    fn new(fixture: &Fixture, wanted: &Value, port: u16) -> Self {
        let Layer { bytes: layer, config, media_type, config_type, artifact_type } =
            wanted.get("text").map_or_else(|| Layer::component(fixture), |text| Layer::text(fixture, text));
        let envelope = fixture.parts.get("statement").map_or_else(Vec::new, |patch| {
            signing::envelope(&fixture.component().unwrap(), patch).into_bytes()
        });
        let other = b"other".to_vec();
        let mut names = vec![
            ("@PORT@", port.to_string()),
            ("@LAYER@", digest(&layer)),
            ("@ENVELOPE@", digest(&envelope)),
            ("@OTHER@", digest(&other)),
        ];
        let config = patched(config, wanted, "config", &names);
        names.push(("@CONFIG@", digest(&config)));
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(config_type, &config),
            "layers": [descriptor(media_type, &layer)],
            "annotations": { "dev.graph-host.item.id": "t/bad", "org.opencontainers.image.version": "1.0.0" },
        });
        if let Some(kind) = artifact_type {
            manifest["artifactType"] = json!(kind);
        }
        let manifest = patched(manifest, wanted, "manifest", &names);
        names.push(("@MANIFEST@", digest(&manifest)));
        let referrer = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": ENVELOPE,
            "config": descriptor("application/vnd.oci.empty.v1+json", b"{}"),
            "layers": [descriptor(ENVELOPE, &envelope)],
            "subject": descriptor(MANIFEST, &manifest),
        });
        let referrer = patched(referrer, wanted, "referrer", &names);
        names.push(("@REFERRER@", digest(&referrer)));
        let mut listed = descriptor(MANIFEST, &referrer);
        listed["artifactType"] = json!(ENVELOPE);
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [listed] });
        let index = patched(index, wanted, "index", &names);
        let blobs = [layer, config, envelope, other, b"{}".to_vec()];
        let blobs = blobs.into_iter().map(|bytes| (digest(&bytes), bytes)).collect();
        Self { manifest, referrer, index, blobs, names }
    }

    /// Returns an honest registry's answer.
    fn honest(&self, target: &str) -> Answer {
        let (path, _) = target.split_once('?').unwrap_or((target, ""));
        let last = path.rsplit('/').next().unwrap_or_default();
        if path.contains("/blobs/") {
            return self
                .blobs
                .get(last)
                .map_or_else(not_found, |bytes| found("application/octet-stream", bytes));
        }
        if path.contains("/manifests/") {
            return if last == digest(&self.referrer) {
                found(MANIFEST, &self.referrer)
            } else if last.starts_with("sha256-") || last.starts_with("yanks-") {
                not_found()
            } else {
                found(MANIFEST, &self.manifest)
            };
        }
        if path.contains("/referrers/") {
            return found(INDEX, &self.index);
        }
        if path.ends_with("/_catalog") {
            return found("application/json", br#"{"repositories":["t/bad"]}"#);
        }
        if path.ends_with("/tags/list") {
            return found("application/json", br#"{"name":"t/bad","tags":["1.0.0"]}"#);
        }
        not_found()
    }
}

fn found(media_type: &str, body: &[u8]) -> Answer {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    Answer::Bytes([head.as_bytes(), body].concat())
}

fn not_found() -> Answer {
    let head = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    Answer::Bytes(head.as_bytes().to_vec())
}

/// Makes an answer of a fixture: `status`, `fields`, `body`, and `endless` or `silent` for one that does not end.
fn written(fixture: &Fixture, answer: &Value, names: &[(&'static str, String)]) -> Answer {
    let body =
        answer.get("body").map(|body| filled(&generated(body, &fixture.name), names)).unwrap_or_default();
    let goes_on = answer.get("endless").or_else(|| answer.get("silent")).is_some();
    let status = answer.get("status").and_then(Value::as_u64).unwrap_or(200);
    let mut head = format!("HTTP/1.1 {status} Told\r\nconnection: close\r\n");
    if !goes_on {
        head += &format!("content-length: {}\r\n", body.len());
    }
    for (name, value) in answer.get("fields").and_then(Value::as_object).into_iter().flatten() {
        head += &format!("{name}: {}\r\n", filled(value.as_str().unwrap(), names));
    }
    let bytes = [head.as_bytes(), b"\r\n", body.as_bytes()].concat();
    match (answer.get("endless"), answer.get("silent")) {
        (Some(_), _) => Answer::Endless(bytes),
        (None, Some(_)) => Answer::Silence(bytes),
        (None, None) => Answer::Bytes(bytes),
    }
}

/// Serves the fixture's contents. `answers` are for requests whose address contains `path`, if their head contains the
/// text `when` or lacks the text `unless`; all others are answered honestly.
pub(crate) fn serve(fixture: &Fixture, wanted: &Value) -> Server {
    for key in wanted.as_object().unwrap().keys() {
        let known = ["text", "config", "manifest", "referrer", "index", "answers"];
        assert!(known.contains(&key.as_str()), "{}: `{key}` is nothing that a registry has", fixture.name);
    }
    Server::start(|port| {
        let content = Content::new(fixture, wanted, port);
        let answers = wanted.get("answers").and_then(Value::as_array).into_iter().flatten();
        let text = |answer: &Value, key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        let answers: Vec<_> = answers
            .map(|answer| {
                let path = filled(answer["path"].as_str().unwrap(), &content.names);
                let told = written(fixture, answer, &content.names);
                (path, text(answer, "when"), text(answer, "unless"), told)
            })
            .collect();
        Answer::Chosen(Choice(Arc::new(move |head| {
            let target = head.split(' ').nth(1).unwrap_or_default();
            let told = answers.iter().find(|(path, when, unless, _)| {
                target.contains(path.as_str())
                    && when.as_ref().is_none_or(|text| head.contains(text.as_str()))
                    && unless.as_ref().is_none_or(|text| !head.contains(text.as_str()))
            });
            told.map_or_else(|| content.honest(target), |(.., answer)| answer.clone())
        })))
    })
}
