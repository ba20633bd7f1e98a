//! Connections that are kept: the requests over them, and their ends.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use graph_core::capability::{HttpField, HttpResponse, HttpRule, Scheme, SecretSource};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::kept::Destination;
use super::problem::{Kind, Problem};
use super::received::ReceivedBytes;
use super::resolver::SystemResolver;
use super::send::{Client, IgnoredResponse, Request, RequestBounds, ResponseReceiver};

/// The reaction of a server to a request.
#[derive(Clone, Copy)]
enum Does {
    /// Sends this, and leaves the connection open.
    Answers(&'static str),
    /// Sends this, and closes the connection.
    Ends(&'static str),
    /// Sends this, and reads nothing more.
    Ignores(&'static str),
}

const OK: Does = Does::Answers("HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok");

/// The path of a request whose body is longer than the buffers between two sockets.
const LONG: &str = "/long";

/// A server that reacts to its requests one after the other as configured, and records the connection of each.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<(usize, String)>>>,
    closed: Arc<tokio::sync::Notify>,
}

impl Server {
    async fn doing(does: &'static [Does]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, heard: Arc::default(), closed: Arc::default() };
        let (heard, closed) = (Arc::clone(&server.heard), Arc::clone(&server.closed));
        tokio::spawn(async move {
            for connection in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (heard, closed) = (Arc::clone(&heard), Arc::clone(&closed));
                tokio::spawn(async move {
                    while let Some(path) = read_request(&mut stream).await {
                        let number = {
                            let mut heard = heard.lock().unwrap();
                            heard.push((connection, path));
                            heard.len() - 1
                        };
                        match does[number] {
                            Does::Answers(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                            Does::Ends(text) => {
                                stream.write_all(text.as_bytes()).await.unwrap();
                                break;
                            }
                            Does::Ignores(text) => {
                                stream.write_all(text.as_bytes()).await.unwrap();
                                std::future::pending::<()>().await;
                            }
                        }
                    }
                    drop(stream);
                    closed.notify_one();
                });
            }
        });
        server
    }

    /// Returns the requested paths, each with the number of its connection.
    fn heard(&self) -> Vec<(usize, String)> {
        self.heard.lock().unwrap().clone()
    }

    fn destination(&self, secret: Option<&str>) -> Destination {
        Destination {
            scheme: Scheme::Http,
            host: "127.0.0.1".to_owned(),
            port: self.port,
            addresses: vec!["127.0.0.1".parse().unwrap()],
            secret: secret.map(|name| SecretSource::Env(name.to_owned())),
        }
    }

    /// Requests a path, with a destination if it is given.
    async fn asked(
        &self,
        client: &Client,
        path: &str,
        most: u64,
        destination: Option<&Destination>,
        arriving: &mut dyn ResponseReceiver,
    ) -> Result<HttpResponse, Problem> {
        let request = Request {
            method: "POST".to_owned(),
            scheme: Scheme::Http,
            host: "127.0.0.1".to_owned(),
            port: self.port,
            path: path.to_owned(),
            fields: Vec::new(),
            body: match path {
                LONG => vec![b'b'; 16 << 20].into(),
                _ => "body".into(),
            },
        };
        let rule = HttpRule {
            host: "127.0.0.1".to_owned(),
            schemes: vec![Scheme::Http],
            ports: vec![self.port],
            methods: vec!["POST".to_owned()],
            addresses: vec!["127.0.0.1".parse().unwrap()],
        };
        let received = ReceivedBytes::for_body_of(most);
        let bounds = RequestBounds { connect: None, most, received: &received };
        client.send(&request, &rule, bounds, destination, arriving).await
    }

    async fn ask(&self, client: &Client, path: &str) -> Result<HttpResponse, Problem> {
        self.asked(client, path, 1000, Some(&self.destination(None)), &mut IgnoredResponse).await
    }
}

/// Returns the path of a request once the whole request has arrived, or the head of a long one; `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\nbody") && !bytes.starts_with(b"POST /long") {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(bytes).unwrap().split(' ').nth(1).map(ToOwned::to_owned)
}

fn client() -> Client {
    Client::new(Arc::new(SystemResolver))
}

fn paths(heard: &[(usize, String)]) -> Vec<(usize, &str)> {
    heard.iter().map(|(connection, path)| (*connection, path.as_str())).collect()
}

#[tokio::test]
async fn requests_for_one_destination_go_over_one_connection() {
    let server = Server::doing(&[OK; 6]).await;
    let client = client();
    for path in ["/1", "/2"] {
        assert_eq!(server.ask(&client, path).await.unwrap().body, b"ok");
    }
    let other = server.destination(Some("KEY"));
    for path in ["/another-secret", "/the-same-secret"] {
        server.asked(&client, path, 1000, Some(&other), &mut IgnoredResponse).await.unwrap();
    }
    server.asked(&client, "/of-a-component", 1000, None, &mut IgnoredResponse).await.unwrap();
    server.ask(&client, "/3").await.unwrap();
    let expected = [
        (0, "/1"),
        (0, "/2"),
        (1, "/another-secret"),
        (1, "/the-same-secret"),
        (2, "/of-a-component"),
        (0, "/3"),
    ];
    assert_eq!(paths(&server.heard()), expected);
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_not_used() {
    const SAYS_SO: Does = Does::Ends("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    const SILENTLY: Does =
        Does::Ends("HTTP/1.1 200 OK\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nok");
    let server = Server::doing(&[SAYS_SO, SILENTLY, OK, OK]).await;
    let client = client();
    for path in ["/1", "/2", "/3", "/4"] {
        assert_eq!(server.ask(&client, path).await.unwrap().status, 200, "{path}");
        if ["/1", "/2"].contains(&path) {
            server.closed.notified().await;
        }
    }
    assert_eq!(paths(&server.heard()), [(0, "/1"), (1, "/2"), (2, "/3"), (2, "/4")]);
}

#[tokio::test]
async fn a_connection_is_kept_only_if_the_server_says_that_it_waits() {
    const SAYS_NOTHING: Does = Does::Answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    const OTHERWISE: Does =
        Does::Answers("HTTP/1.1 200 OK\r\nconnection: x-keep-alive\r\ncontent-length: 2\r\n\r\nok");
    const AMONG_OTHERS: Does =
        Does::Answers("HTTP/1.1 200 OK\r\nconnection: x-a, Keep-Alive\r\ncontent-length: 2\r\n\r\nok");
    const TOO_SHORT: Does = Does::Answers(
        "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nkeep-alive: max=9, timeout=1\r\ncontent-length: 2\r\n\r\nok",
    );
    let server = Server::doing(&[SAYS_NOTHING, OTHERWISE, AMONG_OTHERS, OK, TOO_SHORT, OK]).await;
    let client = client();
    for path in ["/1", "/2", "/3", "/4", "/5", "/6"] {
        server.ask(&client, path).await.unwrap();
    }
    let expected = [(0, "/1"), (1, "/2"), (2, "/3"), (2, "/4"), (2, "/5"), (3, "/6")];
    assert_eq!(paths(&server.heard()), expected);
}

#[tokio::test]
async fn a_request_that_may_have_been_read_is_not_sent_again() {
    let server = Server::doing(&[OK, Does::Ends(""), OK]).await;
    let client = client();
    server.ask(&client, "/1").await.unwrap();
    assert_eq!(server.ask(&client, "/2").await.unwrap_err().kind, Kind::Terminated);
    server.ask(&client, "/3").await.unwrap();
    assert_eq!(paths(&server.heard()), [(0, "/1"), (0, "/2"), (1, "/3")]);
}

#[tokio::test]
async fn an_answer_that_was_sent_too_early_answers_nothing() {
    let two = Does::Answers(
        "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged",
    );
    let server = Server::doing(Box::leak(Box::new([two, OK]))).await;
    let client = client();
    server.ask(&client, "/1").await.unwrap();
    assert_eq!(server.ask(&client, "/2").await.unwrap().body, b"ok");
    assert_eq!(paths(&server.heard()), [(0, "/1"), (1, "/2")]);
}

/// A receiver that stops after the first part of a body.
struct Enough;

impl ResponseReceiver for Enough {
    fn head(&mut self, _status: u16, _fields: &[HttpField]) {}

    fn chunk(&mut self, _bytes: &[u8]) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[tokio::test]
async fn the_rest_of_an_answer_does_not_become_the_next_one() {
    let part = Does::Answers(
        "HTTP/1.1 200 OK\r\nkeep-alive: timeout=5\r\ncontent-length: 400\r\n\r\nthe first part",
    );
    let server = Server::doing(Box::leak(Box::new([part, OK]))).await;
    let client = client();
    let destination = server.destination(None);
    server.asked(&client, "/1", 1000, Some(&destination), &mut Enough).await.unwrap();
    server.ask(&client, "/2").await.unwrap();
    assert_eq!(paths(&server.heard()), [(0, "/1"), (1, "/2")]);
}

#[tokio::test]
async fn a_connection_whose_request_was_not_read_is_not_used() {
    let early =
        Does::Ignores("HTTP/1.1 413 Too Large\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nno");
    let server = Server::doing(Box::leak(Box::new([early, OK]))).await;
    let client = client();
    assert_eq!(server.ask(&client, LONG).await.unwrap().status, 413);
    server.ask(&client, "/2").await.unwrap();
    assert_eq!(paths(&server.heard()), [(0, LONG), (1, "/2")]);
}

#[tokio::test]
async fn each_request_has_its_own_bounds() {
    // Interim responses: a request without a body accepts at most 128 KiB of them.
    let early = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(3000);
    let long = Does::Answers(Box::leak(
        format!("{early}HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok").into(),
    ));
    let server = Server::doing(Box::leak(Box::new([long, long, OK, OK]))).await;
    let client = client();
    let destination = server.destination(None);
    for (path, most) in [("/1", 10), ("/2", 10), ("/3", 2)] {
        server.asked(&client, path, most, Some(&destination), &mut IgnoredResponse).await.unwrap();
    }
    let refused = server.asked(&client, "/4", 1, Some(&destination), &mut IgnoredResponse).await.unwrap_err();
    assert_eq!(
        (refused.kind, &*refused.message),
        (Kind::ResponseBody, "the response is longer than 1 bytes")
    );
    assert_eq!(paths(&server.heard()), [(0, "/1"), (0, "/2"), (0, "/3"), (0, "/4")]);
}

#[test]
fn a_connection_stays_with_its_runtime() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (of_server, first, second) = (tokio::runtime::Runtime::new().unwrap(), runtime(), runtime());
    let server = of_server.block_on(Server::doing(&[OK; 3]));
    let client = client();
    first.block_on(server.ask(&client, "/1")).unwrap();
    second.block_on(server.ask(&client, "/2")).unwrap();
    first.block_on(server.ask(&client, "/3")).unwrap();
    assert_eq!(paths(&server.heard()), [(0, "/1"), (1, "/2"), (0, "/3")]);
}

#[tokio::test]
async fn a_connection_is_not_used_for_ever() {
    let server = Server::doing(&[OK; 100]).await;
    let client = client();
    for _ in 0..100 {
        server.ask(&client, "/").await.unwrap();
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(900)).await;
        tokio::time::resume();
    }
    let connections: Vec<usize> = server.heard().into_iter().map(|(connection, _)| connection).collect();
    let first = connections.iter().filter(|connection| **connection == 0).count();
    assert!((60..=70).contains(&first), "a connection was used {first} times: {connections:?}");
}

#[tokio::test]
async fn a_connection_is_not_kept_for_long() {
    let server = Server::doing(&[OK; 2]).await;
    let client = client();
    server.ask(&client, "/1").await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    server.closed.notified().await;
    tokio::time::resume();
    server.ask(&client, "/2").await.unwrap();
    assert_eq!(paths(&server.heard()), [(0, "/1"), (1, "/2")]);
}
