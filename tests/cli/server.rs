//! Servers of tests, with answers that the test chooses.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Answer to every request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// The request itself, as a body.
    Echo,
    /// These bytes, and then nothing more for as long as the other side waits.
    Silence(Vec<u8>),
    /// These bytes, repeated without end.
    Endless(Vec<u8>),
    /// The first bytes, and then the second ones without end.
    Repeating(Vec<u8>, Vec<u8>),
    /// An answer that depends on the head of the request.
    Chosen(Choice),
}

/// Chooses an answer to a request.
#[derive(Clone)]
pub(crate) struct Choice(pub(crate) Arc<dyn Fn(&str) -> Answer + Send + Sync>);

impl std::fmt::Debug for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Choice(…)")
    }
}

/// A server on this machine, until it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
}

impl Server {
    /// Starts the server. The answer may depend on the port that the system chose.
    pub(crate) fn start(answer: impl FnOnce(u16) -> Answer) -> Self {
        Self::start_with(None, answer)
    }

    /// Starts a server with TLS. The PEM text contains a certificate and its key.
    pub(crate) fn start_tls(pem: &[u8], answer: Answer) -> Self {
        let certificate = CertificateDer::from_pem_slice(pem).unwrap();
        let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Self::start_with(Some(Arc::new(config)), |_| answer)
    }

    fn start_with(tls: Option<Arc<ServerConfig>>, answer: impl FnOnce(u16) -> Answer) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = answer(port);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let (heard_by, stops) = (Arc::clone(&heard), Arc::clone(&stopped));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if stops.load(Ordering::Relaxed) {
                    return;
                }
                let (answer, heard) = (answer.clone(), Arc::clone(&heard_by));
                let tls = tls.clone();
                std::thread::spawn(move || match tls {
                    None => serve(stream, &answer, &heard),
                    Some(config) => {
                        let session = ServerConnection::new(config).unwrap();
                        serve(StreamOwned::new(session, stream), &answer, &heard);
                    }
                });
            }
        });
        Self { port, heard, stopped }
    }

    /// Returns the received requests, each with the part of its body that arrived with its head.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for the next connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// A connection that can signal its end.
trait Ends {
    fn end(&mut self) -> std::io::Result<()>;
}

impl Ends for TcpStream {
    fn end(&mut self) -> std::io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Ends for StreamOwned<ServerConnection, TcpStream> {
    fn end(&mut self) -> std::io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

/// Writes until the other side closes the connection.
fn write_for_ever(stream: &mut impl Write, first: &[u8], again: &[u8]) -> std::io::Result<()> {
    let more = again.repeat(65536 / again.len() + 1);
    stream.write_all(first)?;
    loop {
        stream.write_all(&more)?;
    }
}

/// Answers one request; an end of the connection in between is ignored.
fn serve(mut stream: impl Read + Write + Ends, answer: &Answer, heard: &Mutex<Vec<String>>) {
    let mut request = Vec::new();
    let mut buffer = vec![0; 65536];
    while !request.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => request.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    let asked = String::from_utf8_lossy(&request).into_owned();
    let chosen = match answer {
        Answer::Chosen(Choice(choose)) => choose(&asked),
        other => other.clone(),
    };
    heard.lock().unwrap().push(asked);
    let _ = match &chosen {
        Answer::Chosen(_) => Ok(()),
        Answer::Bytes(bytes) => stream.write_all(bytes).and_then(|()| stream.end()),
        Answer::Echo => {
            let fields = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", request.len());
            stream.write_all(&[fields.as_bytes(), &request].concat())
        }
        Answer::Silence(bytes) => stream.write_all(bytes),
        Answer::Endless(bytes) => write_for_ever(&mut stream, bytes, b"x"),
        Answer::Repeating(bytes, again) => write_for_ever(&mut stream, bytes, again),
    };
    // Reads until the other side closes the connection.
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}
