//! A registry for tests that stores pushed artifacts, with or without the referrers API.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use graph_core::digest::Digest;
use serde_json::{Value, json};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Contents of a registry. The key of a manifest or a tag begins with its repository.
#[derive(Default)]
struct Kept {
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: BTreeMap<(String, String), Vec<u8>>,
    tags: BTreeMap<(String, String), String>,
}

/// A registry on this machine, until it is dropped.
pub(crate) struct Registry {
    port: u16,
    kept: Arc<Mutex<Kept>>,
    stopped: Arc<AtomicBool>,
}

/// A request, with its body.
struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// A status, header fields and a body.
type Response = (u16, Vec<(&'static str, String)>, Vec<u8>);

impl Registry {
    /// Starts a registry. Without the referrers API, clients have to list referrers under a tag.
    pub(crate) fn start(has_referrers: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (keeps, stops) = (Arc::clone(&kept), Arc::clone(&stopped));
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                if stops.load(Ordering::Relaxed) {
                    return;
                }
                let Some(request) = read(&mut stream) else { continue };
                let response = answer(&mut keeps.lock().unwrap(), &request, has_referrers);
                write(&mut stream, &request, response);
            }
        });
        Self { port, kept, stopped }
    }

    /// Returns the host and the port.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Stores a manifest in a repository, as anyone who may push can. A manifest with a subject is one of its referrers.
    pub(crate) fn push(&self, repository: &str, manifest: &Value) {
        let bytes = manifest.to_string().into_bytes();
        let key = (repository.to_owned(), Digest::of_bytes(&bytes).to_string());
        self.kept.lock().unwrap().manifests.insert(key, bytes);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for the next connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 65536];
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = bytes.split_off(head);
    while body.len() < length.unwrap_or(0) {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => body.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
    let mut words = text.split(' ');
    Some(Request { method: words.next()?.to_owned(), path: words.next()?.to_owned(), body })
}

fn write(stream: &mut TcpStream, request: &Request, (status, fields, body): Response) {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let fields = fields.concat();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} Told\r\nconnection: close\r\ncontent-length: {length}\r\n{fields}\r\n");
    let _ = stream.write_all(head.as_bytes());
    if request.method != "HEAD" {
        let _ = stream.write_all(&body);
    }
}

/// Returns descriptors of the manifests of a repository that refer to one.
fn referrers(kept: &Kept, repository: &str, subject: &str) -> Vec<Value> {
    let of = kept.manifests.iter().filter(|((place, _), _)| place == repository);
    of.filter_map(|((_, digest), bytes)| {
        let manifest: Value = serde_json::from_slice(bytes).ok()?;
        (manifest["subject"]["digest"] == subject).then(|| {
            let annotations = manifest.get("annotations").cloned().unwrap_or_else(|| json!({}));
            json!({
                "mediaType": MANIFEST, "digest": digest, "size": bytes.len(),
                "artifactType": manifest["artifactType"], "annotations": annotations,
            })
        })
    })
    .collect()
}

fn answer(kept: &mut Kept, request: &Request, has_referrers: bool) -> Response {
    let missing = || (404, Vec::new(), Vec::new());
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let Some(path) = path.strip_prefix("/v2/") else { return missing() };
    if path == "_catalog" {
        let all: std::collections::BTreeSet<_> = kept.tags.keys().map(|(place, _)| place).collect();
        return (200, Vec::new(), json!({ "repositories": all }).to_string().into_bytes());
    }
    let part = |name: &str| path.split_once(&format!("/{name}/"));
    if let Some(repository) = path.strip_suffix("/tags/list") {
        let tags = kept.tags.keys().filter(|(place, _)| place == repository).map(|(_, tag)| tag);
        return (200, Vec::new(), json!({ "tags": tags.collect::<Vec<_>>() }).to_string().into_bytes());
    }
    if let Some((repository, _)) = part("blobs/uploads") {
        if request.method == "POST" {
            return (202, vec![("location", format!("/v2/{repository}/blobs/uploads/one"))], Vec::new());
        }
        let digest = query.split('&').find_map(|field| field.strip_prefix("digest=")).unwrap_or_default();
        kept.blobs.insert(digest.replace("%3A", ":"), request.body.clone());
        return (201, Vec::new(), Vec::new());
    }
    if let Some((_, digest)) = part("blobs") {
        return kept.blobs.get(digest).map_or_else(missing, |bytes| (200, Vec::new(), bytes.clone()));
    }
    if let Some((repository, subject)) = part("referrers") {
        if !has_referrers {
            return missing();
        }
        let found = referrers(kept, repository, subject);
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": found });
        return (200, vec![("content-type", INDEX.to_owned())], index.to_string().into_bytes());
    }
    let Some((repository, name)) = part("manifests") else { return missing() };
    let place = |name: &str| (repository.to_owned(), name.to_owned());
    if request.method == "PUT" {
        let digest = Digest::of_bytes(&request.body).to_string();
        kept.manifests.insert(place(&digest), request.body.clone());
        if !name.starts_with("sha256:") {
            kept.tags.insert(place(name), digest);
        }
        let manifest: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let subject = manifest["subject"]["digest"].as_str().filter(|_| has_referrers);
        let fields = subject.map(|digest| ("oci-subject", digest.to_owned())).into_iter().collect();
        return (201, fields, Vec::new());
    }
    let digest = kept.tags.get(&place(name)).map_or(name, String::as_str);
    let Some(bytes) = kept.manifests.get(&place(digest)) else { return missing() };
    let manifest: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let media_type = manifest["mediaType"].as_str().unwrap_or(MANIFEST).to_owned();
    (200, vec![("content-type", media_type)], bytes.clone())
}
