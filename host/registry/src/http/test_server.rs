//! A registry for tests: a function answers each request.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Registry, RegistryOptions};

/// The status, the header fields and the body of a response.
pub(super) type CannedResponse = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// A registry on this machine, and the paths with queries that were requested from it.
pub(super) struct TestServer {
    pub(super) registry: Registry,
    asked: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    /// Starts a server, which runs until the tests end.
    pub(super) fn start(answer: impl Fn(&str) -> CannedResponse + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let options =
            RegistryOptions::new(None, Duration::from_mins(1), 64 << 20).with_named([host.clone()].into());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let paths = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.extend(byte);
                }
                let request = String::from_utf8(request).unwrap();
                let path = request.split(' ').nth(1).unwrap().to_owned();
                let (status, fields, body) = answer(&path);
                paths.lock().unwrap().push(path);
                let fields: String =
                    fields.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {length}\r\n{fields}\r\n"
                );
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(&body).unwrap();
            }
        });
        Self { registry: Registry::new(&host, &options).unwrap(), asked }
    }

    /// Returns the requested paths, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}
